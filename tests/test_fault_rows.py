"""The list of faults is true: every row is there, and the tests that it names are there too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/faults.md"
FOLDERS = ("services", "libs", "tests")
ROW = re.compile(r"^\| ([A-Z]\d[^|]*) \|([^|]*)\|(.*)\|$", re.M)
NAMED = re.compile(r"`([\w/.]+)`")
KINDS = {
    **{"A": range(1, 21), "G": range(1, 21), "N": range(1, 18), "R": range(1, 9)},
    **{"S": range(1, 31), "W": range(16, 26)},
}
REDIS = {f"R{number}r" for number in range(1, 5)}


def rows() -> Iterator[tuple[list[str], str]]:
    """Return what a line is about, and what it says of its tests."""
    for told, _, shown_by in ROW.findall(PAGE.read_text()):
        yield [row for part in told.split(", ") for row in spread(part)], shown_by


def spread(told: str) -> list[str]:
    """Return every row of a range of them."""
    first, _, last = told.partition("\N{EN DASH}")
    kind, suffix = first[0], "r" if first.endswith("r") else ""
    numbers = [int(end[1:].removesuffix("r")) for end in (first, last or first)]
    return [f"{kind}{number}{suffix}" for number in range(numbers[0], numbers[1] + 1)]


def sources(pattern: str, *folders: str) -> str:
    paths = (path for folder in folders for path in (ROOT / folder).rglob(pattern))
    return "\n".join(path.read_text() for path in paths)


def test_every_row_is_there() -> None:
    there = {row for about, _ in rows() for row in about}

    assert {f"{kind}{number}" for kind in KINDS for number in KINDS[kind]} - there == set()
    assert REDIS - there == set()


def test_every_row_has_a_test_of_its_name_or_names_one() -> None:
    python, solidity = sources("test_*.py", *FOLDERS), sources("*.sol", "evm/test")
    nameless = [
        row
        for about, shown_by in rows()
        for row in about
        if not re.search(rf"[_\"]{row.lower()}[_(]", python)
        and not any(f"function {name}(" in solidity for name in NAMED.findall(shown_by))
        and "evm/test/invariant" not in shown_by
    ]

    assert nameless == []


def test_every_file_that_is_named_is_there() -> None:
    named = {name for _, shown_by in rows() for name in NAMED.findall(shown_by)}
    files = {name for name in named if name.endswith(".py") or "/" in name}

    def is_there(name: str) -> bool:
        found = (path for folder in FOLDERS for path in (ROOT / folder).glob(f"**/{name}"))
        return (ROOT / name).exists() or any(found)

    assert files
    assert {name for name in files if not is_there(name)} == set()
