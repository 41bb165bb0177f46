"""Counts requests in Redis, or in this process while Redis is away."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

from pydantic import SecretStr
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from swap_api import observe
from swap_api.domain.rate_limits import Count, Quota, admit
from swap_api.ports import Clock, Counters

ANSWER_SECONDS: Final = 0.1
# After a failure Redis is not asked for so long: only one request in a second waits for it.
AWAY_SECONDS: Final = 1.0
LOCAL_KEYS_MAX: Final = 10_000
CONNECTIONS_MAX: Final = 64
NOTHING: Final = timedelta(0)
MICROSECOND: Final = timedelta(microseconds=1)

# What `admit` says, in one step for all replicas and by one clock; it returns what was spent.
# A key holds when its quota is whole again, in microseconds: doubles hold that until the year 2255.
ADD: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local spent, may_pass = {}, true
for i, key in ipairs(KEYS) do
  local whole, cost = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  spent[i] = math.max(tonumber(redis.call('GET', key) or now) - now, 0)
  may_pass = may_pass and spent[i] + cost <= whole
end
if may_pass then
  for i, key in ipairs(KEYS) do
    local after = spent[i] + ARGV[2 * i]
    redis.call('SET', key, string.format('%.0f', now + after), 'PX', math.ceil(after / 1000))
  end
end
return spent
"""


class LocalCounters:
    """Counters of this process alone. Full, it forgets who was heard of longest ago."""

    def __init__(self, *, clock: Clock, keys_max: int = LOCAL_KEYS_MAX) -> None:
        self._clock = clock
        self._keys_max = keys_max
        self._whole_at: OrderedDict[str, datetime] = OrderedDict()

    async def add(self, quotas: Sequence[Quota]) -> Sequence[Count]:
        now = self._clock()
        spent = [max(self._whole_at.get(quota.key, now) - now, NOTHING) for quota in quotas]
        counts = admit(quotas, spent)
        for count in counts:
            self._whole_at[count.quota.key] = now + count.spent
            self._whole_at.move_to_end(count.quota.key)
        while len(self._whole_at) > self._keys_max:
            self._whole_at.popitem(last=False)
        return counts


class RedisCounters:
    """Counters that all replicas share, with short timeouts and no second try."""

    def __init__(self, url: SecretStr, *, fallback: Counters) -> None:
        self._pool = ConnectionPool.from_url(
            url.get_secret_value(),
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
            max_connections=CONNECTIONS_MAX,
            protocol=2,
        )
        self._add: Any = Redis(connection_pool=self._pool).register_script(ADD)
        # A pool that is exhausted refuses instead of waiting, which looks as if Redis were away.
        self._places = asyncio.Semaphore(CONNECTIONS_MAX)
        self._fallback = fallback
        self._away_until = float("-inf")

    async def add(self, quotas: Sequence[Quota]) -> Sequence[Count]:
        async with self._places:
            counts = await self._shared(quotas)
        return await self._fallback.add(quotas) if counts is None else counts

    async def close(self) -> None:
        await self._pool.disconnect()

    async def _shared(self, quotas: Sequence[Quota]) -> Sequence[Count] | None:
        """Return what Redis counts; None while it is away."""
        if monotonic() < self._away_until:
            return None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._add_all(quotas)
        except Exception as error:  # whatever it is, a request is not refused for it
            self._away_until = monotonic() + AWAY_SECONDS
            observe.counters_away(error)
            return None

    async def _add_all(self, quotas: Sequence[Quota]) -> Sequence[Count]:
        numbers = [
            duration // MICROSECOND for quota in quotas for duration in (quota.whole, quota.cost)
        ]
        spent = await self._add(keys=[f"swap-api/{quota.key}" for quota in quotas], args=numbers)
        return admit(quotas, [number * MICROSECOND for number in spent])
