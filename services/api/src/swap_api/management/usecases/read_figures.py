from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Final
from uuid import UUID

from swap_api.management.decide.figures import DayFigures, Figures, fill_days
from swap_api.management.store.figures import PostgresFigures
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.members import Actor
from swap_runtime.clock import Clock

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)


class ReadFigures:
    """Read what an app's swaps of the last day and week amount to."""

    def __init__(
        self, figures: PostgresFigures, partners: PostgresPartners, *, clock: Clock
    ) -> None:
        self._figures = figures
        self._partners = partners
        self._clock = clock

    async def __call__(self, app_id: UUID, *, actor: Actor) -> Figures:
        """
        :raises NotFound: when there is no such app.
        """
        await self._partners.find_app(app_id, actor)
        # Whole seconds, so that a list of the same period can be requested.
        now = self._clock().replace(microsecond=0)
        return await self._figures.of_app(app_id, day=now - DAY, week=now - WEEK)

    async def by_day(self, app_id: UUID, days: int, *, actor: Actor) -> tuple[DayFigures, ...]:
        """Return the last days in UTC, today included, oldest first.

        :raises NotFound: when there is no such app.
        """
        await self._partners.find_app(app_id, actor)
        first = self._clock().astimezone(UTC).date() - DAY * (days - 1)
        since = datetime.combine(first, time.min, UTC)
        counted = await self._figures.by_day(app_id, since=since)
        return fill_days(counted, first=first, days=days)
