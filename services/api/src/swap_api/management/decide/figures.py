"""What an app's swaps amount to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class StatusFigures:
    """The swaps of a period that have a status now."""

    number: int
    value_usd_micros: int  # the requested amounts, at the quotes' prices
    median: timedelta | None  # from creation to close; None where none of them closed


@dataclass(frozen=True, slots=True)
class Period:
    """The swaps that were created since a moment."""

    since: datetime
    statuses: Mapping[str, StatusFigures]


@dataclass(frozen=True, slots=True)
class DayFigures:
    """The swaps that were created on one day, in UTC."""

    day: date
    statuses: Mapping[str, StatusFigures]


def fill_days(
    counted: Mapping[date, Mapping[str, StatusFigures]], *, first: date, days: int
) -> tuple[DayFigures, ...]:
    """Return every day from the first on, also those without a swap."""
    every = (first + timedelta(days=number) for number in range(days))
    return tuple(DayFigures(day, counted.get(day, {})) for day in every)


@dataclass(frozen=True, slots=True)
class Figures:
    """What an app's swaps amount to."""

    live: Mapping[str, int]  # by status, whenever they were created
    day: Period
    week: Period
    newest_at: datetime | None
