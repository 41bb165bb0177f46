"""Counts of what a caller has open, each a second old at most."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from swap_runtime.clock import Clock

FRESH_FOR: Final = timedelta(seconds=1)
CACHE_MAX: Final = 10_000

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class _CachedCount:
    number: int = 0
    counted_at: datetime | None = None
    counting: asyncio.Lock = field(default_factory=asyncio.Lock)


class RecentCounts(Generic[Key]):
    """What is counted stands for a second, and this process adds what it admits.

    Replicas together may let a second's worth more through.
    """

    def __init__(self, count: Callable[[Key, int], Awaitable[int]], *, clock: Clock) -> None:
        """
        :param count: returns how many there are of a key, counted up to a bound.
        """
        self._count = count
        self._clock = clock
        self._known: OrderedDict[Key, _CachedCount] = OrderedDict()

    async def admit(self, key: Key, *, at_most: int) -> bool:
        """Count one more and return True, unless it would be one too many."""
        known = await self._current(key, at_most)
        if known.number >= at_most:
            return False
        known.number += 1
        return True

    async def _current(self, key: Key, at_most: int) -> _CachedCount:
        known = self._known.setdefault(key, _CachedCount())
        self._known.move_to_end(key)
        while len(self._known) > CACHE_MAX:
            self._known.popitem(last=False)
        async with known.counting:  # the first of concurrent requests counts for all of them
            if not self._is_fresh(known):
                known.number = await self._count(key, at_most)
                known.counted_at = self._clock()
            return known

    def _is_fresh(self, known: _CachedCount) -> bool:
        counted_at = known.counted_at
        return counted_at is not None and self._clock() - counted_at <= FRESH_FOR
