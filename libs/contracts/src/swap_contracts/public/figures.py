"""The public models of figures: what an app's swaps and webhooks amount to."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from swap_contracts.public.doubles import dollars, ratio
from swap_contracts.public.models import PublicModel

MICRO_DECIMALS: Final = 6
DOLLAR_E18: Final = 10**18
MICROSECOND: Final = timedelta(microseconds=1)
SECOND: Final = timedelta(seconds=1)


class PeriodFiguresModel(PublicModel):
    """The swaps that were created since a moment."""

    since: datetime
    created: int
    statuses: dict[str, int]  # by the status they have now
    volume_in_usd: float  # of those that are completed, at their quotes' prices
    median_completion_seconds: float | None


class AppFiguresModel(PublicModel):
    """What an app's swaps amount to."""

    live: dict[str, int]  # swaps that are under way, by status, whenever they were created
    day: PeriodFiguresModel
    week: PeriodFiguresModel
    newest_at: datetime | None


class DayFiguresModel(PublicModel):
    """The swaps that were created on one day, in UTC."""

    day: date
    created: int
    statuses: dict[str, int]  # by the status they have now
    volume_in_usd: float  # of those that are completed, at their quotes' prices
    median_completion_seconds: float | None


class HourFiguresModel(PublicModel):
    """Messages to one endpoint that ended within one hour, in UTC."""

    hour: datetime
    delivered: int
    undelivered: int


class WebhookFiguresModel(PublicModel):
    """Messages to one endpoint that ended since a moment, and those that wait."""

    endpoint_id: UUID
    since: datetime
    delivered: int
    undelivered: int  # ended otherwise, or waiting
    waiting: int
    hours: list[HourFiguresModel]  # oldest first; without those in which nothing ended


def completion(value_usd_micros: int, median: timedelta | None) -> dict[str, Any]:
    """Return the members of a period that are doubles."""
    return {
        "volume_in_usd": dollars(value_usd_micros, decimals=MICRO_DECIMALS, usd_e18=DOLLAR_E18),
        "median_completion_seconds": median and ratio(median // MICROSECOND, SECOND // MICROSECOND),
    }
