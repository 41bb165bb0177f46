"""docs/own-plumbing.md lists existing files, with their numbers of lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[1] / "docs/own-plumbing.md"
ROW: Final = re.compile(r"\| (?P<files>\[.*?\)) \| (?P<lines>\d+) \|")
FILE: Final = re.compile(r"\]\(([^)]+\.py)\)")
# The page is corrected when it differs much from the code, not after every change.
TOLERANCE: Final = 0.25


def lines_of(file: str) -> int:
    return len((PAGE.parent / file).read_text().splitlines())


def test_every_row_has_about_the_lines_of_its_files() -> None:
    rows = [
        (FILE.findall(row["files"]), int(row["lines"])) for row in ROW.finditer(PAGE.read_text())
    ]

    assert len(rows) >= 20
    wrong = [
        (files, listed, actual)
        for files, listed in rows
        if abs(listed - (actual := sum(map(lines_of, files)))) > max(20, TOLERANCE * actual)
    ]
    assert wrong == []


def test_a_file_is_listed_once() -> None:
    files = [file for row in ROW.finditer(PAGE.read_text()) for file in FILE.findall(row["files"])]

    assert len(files) == len(set(files))
