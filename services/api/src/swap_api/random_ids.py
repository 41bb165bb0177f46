"""Numbers and names that are drawn by lot."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import count
from typing import Final

SEQUENCE_NUMBER_MAX: Final = 2**53 - 1


def request_ids() -> Callable[[], str]:
    """Return what names requests: this process, drawn once, and a number."""
    process, numbers = secrets.token_hex(8), count(1)
    return lambda: f"{process}{next(numbers):016x}"


def new_sequence_number() -> int:
    return 1 + secrets.randbelow(SEQUENCE_NUMBER_MAX)
