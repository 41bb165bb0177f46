"""The state that a chain of the stack stores."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.waiting import block_until


def wait_until_written(state: Path) -> None:
    """Return right after a chain has stored its state; a kill during that would leave none."""
    before = state.stat().st_mtime_ns
    block_until(lambda: state.stat().st_mtime_ns != before and is_whole(state))


def is_whole(state: Path) -> bool:
    try:
        json.loads(state.read_text())
    except json.JSONDecodeError:
        return False
    return True
