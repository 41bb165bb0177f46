"""Counts requests in Redis, or in this process while Redis is away."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import Any, Final

from limits.aio.storage import RedisStorage
from pydantic import SecretStr
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from swap_api import observe
from swap_api.domain.rate_limits import Window
from swap_api.ports import Clock, Count, Counters

ANSWER_SECONDS: Final = 0.1
# After a failure Redis is not asked for so long: only one request in a second waits for it.
AWAY_SECONDS: Final = 1.0
LOCAL_KEYS_MAX: Final = 10_000
CONNECTIONS_MAX: Final = 64


class LocalCounters:
    """Counters of this process alone. Full, it forgets who was heard of longest ago."""

    def __init__(self, *, clock: Clock, keys_max: int = LOCAL_KEYS_MAX) -> None:
        self._clock = clock
        self._keys_max = keys_max
        self._used: OrderedDict[str, int] = OrderedDict()

    async def add(self, windows: Sequence[Window], weight: int) -> Sequence[Count]:
        return [self._add(window, weight) for window in windows]

    def _add(self, window: Window, weight: int) -> Count:
        key, reset_after = _current(window, self._clock)
        used = self._used.pop(key, 0) + weight
        self._used[key] = used
        while len(self._used) > self._keys_max:
            self._used.popitem(last=False)
        return Count(window, used, reset_after)


class RedisCounters:
    """Counters that all replicas share, with short timeouts and no second try."""

    def __init__(self, url: SecretStr, *, clock: Clock, fallback: Counters) -> None:
        self._pool = ConnectionPool.from_url(
            url.get_secret_value(),
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
            max_connections=CONNECTIONS_MAX,
            protocol=2,
        )
        shared: Any = {"connection_pool": self._pool}
        self._storage = RedisStorage(
            url.get_secret_value(), implementation="redispy", key_prefix="swap-api", **shared
        )
        self._clock = clock
        self._fallback = fallback
        self._away_until = float("-inf")

    async def add(self, windows: Sequence[Window], weight: int) -> Sequence[Count]:
        if monotonic() < self._away_until:
            return await self._fallback.add(windows, weight)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.gather(*(self._add(window, weight) for window in windows))
        except Exception as error:  # whatever it is, a request is not refused for it
            self._away_until = monotonic() + AWAY_SECONDS
            observe.counters_away(error)
            return await self._fallback.add(windows, weight)

    async def close(self) -> None:
        await self._pool.disconnect()

    async def _add(self, window: Window, weight: int) -> Count:
        key, reset_after = _current(window, self._clock)
        expiry = int(window.length.total_seconds()) + 1
        used = await self._storage.incr(key, expiry, amount=weight)
        return Count(window, used, reset_after)


def _current(window: Window, clock: Clock) -> tuple[str, timedelta]:
    """Return the counter's key in the running window, and when the next one begins."""
    length = int(window.length.total_seconds())
    now = clock().timestamp()
    number = int(now // length)
    return f"{window.key}/{number}", timedelta(seconds=(number + 1) * length - now)
