"""The list of faults is true: every row is there, and the tests that it names are there too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/faults.md"
# Where a name is looked up, by the word before it or before another one in front of it.
SERVICES = ("api", "quoter", "chain-watcher", "settler", "notifier")
ROOMS = {**{name: f"services/{name}/tests" for name in SERVICES}, "chains": "libs/chains/tests"}
ROW = re.compile(r"^\| ([A-Z]\d[^|]*) \|([^|]*)\|(.*)\|$", re.M)
FUNCTION = re.compile(r"`((?:test|testFuzz|invariant)_\w+)`")
FOUNDRY_TEST = r"function (?:test|testFuzz|invariant)_{}_\w+\("
NAMED_IN = re.compile(rf"(?:(?<![\w-])({'|'.join(ROOMS)}) )?`([\w/.]+)`")
CASE = re.compile(r'the case "([^"]+)"')
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


def named(shown_by: str) -> Iterator[tuple[str, list[Path]]]:
    """Return every file and folder that a line names, with where it is."""
    room = ""
    for word, name in NAMED_IN.findall(shown_by):
        room = word or room
        if not (name.endswith(".py") or "/" in name):
            continue
        is_path = (ROOT / name).exists() or not room
        yield name, [ROOT / name] if is_path else list((ROOT / ROOMS[room]).glob(f"**/{name}"))


def text_of(shown_by: str, pattern: str) -> str:
    """Return all that is in the files that a line names, and in those of its folders."""
    paths = [path for _, found in named(shown_by) for path in found]
    files = {file for path in paths for file in (path.rglob(pattern) if path.is_dir() else [path])}
    return "\n".join(file.read_text() for file in files if file.match(pattern))


def test_every_row_is_there() -> None:
    there = {row for about, _ in rows() for row in about}

    assert {f"{kind}{number}" for kind in KINDS for number in KINDS[kind]} - there == set()
    assert REDIS - there == set()


def test_every_row_names_a_file_with_a_test_of_its_name() -> None:
    nameless = [
        row
        for about, shown_by in rows()
        for row in about
        if not re.search(rf"[_\"]{row.lower()}[_(]", text_of(shown_by, "test_*.py"))
        and not re.search(FOUNDRY_TEST.format(row), text_of(shown_by, "*.t.sol"))
    ]

    assert nameless == []


def test_every_function_that_is_named_is_in_a_file_of_its_line() -> None:
    quoted = [(shown_by, name) for _, shown_by in rows() for name in FUNCTION.findall(shown_by)]
    away = [name for line, name in quoted if f"function {name}(" not in text_of(line, "*.sol")]

    assert quoted
    assert away == []


def test_every_case_that_is_quoted_is_in_a_file_of_its_line() -> None:
    quoted = [(shown_by, case) for _, shown_by in rows() for case in CASE.findall(shown_by)]

    assert [case for line, case in quoted if case not in text_of(line, "test_*.py")] == []


def test_every_file_that_is_named_is_there() -> None:
    lines = [list(named(shown_by)) for _, shown_by in rows()]
    away = [name for line in lines for name, found in line if not all(p.exists() for p in found)]

    assert any(lines)
    assert away + [name for line in lines for name, found in line if not found] == []
