"""Looks at the networks once a minute, stores what is bad, and reads what was stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from swap_dashboard.adapters.status_api import HttpStatusApi
from swap_dashboard.adapters.status_history import PostgresStatusHistory
from swap_dashboard.domain.status import (
    HISTORY,
    SERVICE,
    Incident,
    NetworkStatus,
    StatusDay,
    Trouble,
)
from swap_dashboard.ports import ApiUnavailable, Clock

CACHE_DURATION: Final = timedelta(seconds=10)


class ReadStatus:
    """Query the api once for all concurrent readers, because the page is public."""

    def __init__(self, api: HttpStatusApi, *, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read_at: datetime | None = None
        self._networks: Sequence[NetworkStatus] | None = None

    async def __call__(self) -> Sequence[NetworkStatus] | None:
        """Return the networks; None while the api does not answer."""
        async with self._lock:
            if self._read_at is None or self._clock() - self._read_at >= CACHE_DURATION:
                try:
                    self._networks = await self._api.networks()
                except ApiUnavailable:
                    self._networks = None
                self._read_at = self._clock()  # after a slow answer, those who waited use it
            return self._networks


class RecordStatus:
    def __init__(
        self, read_status: ReadStatus, history: PostgresStatusHistory, *, clock: Clock
    ) -> None:
        self._read_status = read_status
        self._history = history
        self._clock = clock

    async def __call__(self) -> None:
        now = self._clock()
        networks = await self._read_status()
        seen: dict[str, frozenset[Trouble]] = {
            SERVICE: frozenset({Trouble.UNAVAILABLE}) if networks is None else frozenset()
        }
        seen |= {one.name: one.troubles for one in networks or ()}
        await self._history.record(seen, now)
        await self._history.forget(now - HISTORY)


class ReadHistory:
    def __init__(self, history: PostgresStatusHistory, *, clock: Clock) -> None:
        self._history = history
        self._clock = clock

    async def __call__(self) -> tuple[Sequence[StatusDay], Sequence[Incident]]:
        """Return the days, and the incidents that are open or ended within them."""
        since = self._clock() - HISTORY
        return await self._history.days(since), await self._history.incidents(since)
