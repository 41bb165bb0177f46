"""Files that several processes change are complete and private, and no change is lost."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from swap_stack.files import change_json, read_json, write_json


def test_missing_file_is_read_as_none(tmp_path: Path) -> None:
    assert read_json(tmp_path / "none.json") is None


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "var" / "stack.json"
    write_json(path, {"version": 1})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_json(path) == {"version": 1}


def test_concurrent_changes_are_all_stored(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    with ThreadPoolExecutor(8) as pool:
        for number in range(50):
            pool.submit(change_json, path, partial(add, number))
    assert sorted(read_json(path)) == list(range(50))


def test_a_missing_file_is_not_created_empty(tmp_path: Path) -> None:
    change_json(tmp_path / "stack.json", lambda stack: stack)
    assert not (tmp_path / "stack.json").exists()


def add(number: int, seen: list[int] | None) -> list[int]:
    return [*(seen or []), number]
