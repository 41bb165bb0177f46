"""Lists of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted."""

    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A part of a list of messages."""

    messages: Sequence[Mapping[str, Any]]
    total: int  # counted up to a bound
    has_more: bool
