from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from swap_runtime.clock import Clock
from swap_settler.operator import observe
from swap_settler.records import ListPlace
from swap_settler.settling.decide.dwelling import Dwell, StuckSwap
from swap_settler.settling.store.dwelling import PostgresDwelling


class ListStuck:
    """List, count and report the swaps that are longer in a status than they may be; it reads 0."""

    def __init__(
        self,
        dwelling: PostgresDwelling,
        dwell: Dwell,
        *,
        clock: Clock,
        silent_after: timedelta = timedelta(minutes=2),
        limit: int = 1000,
    ) -> None:
        self._silent_after = silent_after
        self._dwelling = dwelling
        self._dwell = dwell
        self._clock = clock
        self._limit = limit

    async def __call__(self) -> Sequence[StuckSwap]:
        silences = await self._dwelling.mark_silences(self._silent_after)
        observe.silences(silences.newly_silent, silences.recovered)
        found = await self._dwelling.find_stuck(self._dwell.bounds, limit=self._limit)
        counts = Counter(one.status for one in found)
        now = self._clock()
        for status in self._dwell.bounds:
            ages = (now - one.since for one in found if one.status is status)
            observe.swaps_stuck(status, counts[status], max(ages, default=timedelta(0)))
        await self._dwelling.report(Counter(one.network for one in found))
        return found

    async def read_page(self, *, after: ListPlace | None, limit: int) -> Sequence[StuckSwap]:
        """Return the longest ones after a place in the list, and report nothing."""
        return await self._dwelling.find_stuck(self._dwell.bounds, after=after, limit=limit)
