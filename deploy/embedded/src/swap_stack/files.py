"""Small files that several processes read and change."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

PRIVATE = 0o600


def read_json(path: Path) -> Any:
    """Return the parsed file, or None where there is none."""
    try:
        return orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def write_private(path: Path, content: bytes) -> None:
    """Put the file in place whole, because others may read it now; its owner alone may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb") as file:
        file.write(content)
    fresh.replace(path)


def write_json(path: Path, value: object) -> None:
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    write_private(path, orjson.dumps(value, option=options))


def change_json(path: Path, change: Callable[[Any], object]) -> None:
    """Read, change and write one file under its lock; None leaves it as it is."""
    with hold_lock(path):
        changed = change(read_json(path))
        if changed is not None:
            write_json(path, changed)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to a file; blocks while another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
