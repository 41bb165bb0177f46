"""What an app's swaps amount to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class StatusFigures:
    """The swaps of a period that have a status now."""

    number: int
    value_usd_micros: int  # what was asked for, at the quotes' prices
    median: timedelta | None  # from creation to close; None where none of them closed


@dataclass(frozen=True, slots=True)
class Period:
    """The swaps that were created since a moment."""

    since: datetime
    statuses: Mapping[str, StatusFigures]


@dataclass(frozen=True, slots=True)
class Figures:
    """What an app's swaps amount to."""

    live: Mapping[str, int]  # by status, whenever they were created
    day: Period
    week: Period
    newest_at: datetime | None
