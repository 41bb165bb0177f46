"""Time comes from outside, so that a test can say what it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the real time: for `app.py`, which hands it to everything else."""
    return datetime.now(UTC)  # noqa: TID251
