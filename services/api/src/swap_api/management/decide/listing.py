"""Lists, and how their parts are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

Row = Mapping[str, Any]  # one thing as it is shown, by member


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted."""

    limit: int
    offset: int
    starting_after: UUID | int | str | None = None  # a row or place of the list; it begins behind


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a list."""

    rows: Sequence[Row]
    total: int  # counted up to a bound
    has_more: bool
    next: str | None = None  # the place that the next part begins behind, where places are named
