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
from swap_api.admission.decide.rate_limits import Count, Quota, admit
from swap_api.admission.ports import Counters
from swap_api.call_batching import CallBatcher
from swap_runtime.clock import Clock

ANSWER_SECONDS: Final = 0.1
# After a failure no request is sent to Redis for this time.
UNAVAILABLE_SECONDS: Final = 1.0
LOCAL_KEYS_MAX: Final = 10_000
# Requests that come while so many questions are under way go together with the next.
CONCURRENT_BATCHES_MAX: Final = 2
BATCH_MAX: Final = 128
NOTHING: Final = timedelta(0)
MICROSECOND: Final = timedelta(microseconds=1)

# The script form of `admit` for a list of requests: one step for all replicas and one clock. It
# returns what was spent. ARGV has for each request the number of its keys, and for each key its
# capacity and the request's weight. A key holds when its quota is whole again, in microseconds:
# doubles hold that until the year 2255.
ADD: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local told, key, arg = {}, 0, 0
while key < #KEYS do
  local quotas, may_pass = tonumber(ARGV[arg + 1]), true
  for i = 1, quotas do
    local whole, cost = tonumber(ARGV[arg + 2 * i]), tonumber(ARGV[arg + 2 * i + 1])
    told[key + i] = math.max(tonumber(redis.call('GET', KEYS[key + i]) or now) - now, 0)
    may_pass = may_pass and told[key + i] + cost <= whole
  end
  if may_pass then
    for i = 1, quotas do
      local after = told[key + i] + ARGV[arg + 2 * i + 1]
      redis.call('SET', KEYS[key + i], string.format('%.0f', now + after),
                 'PX', math.ceil(after / 1000))
    end
  end
  key, arg = key + quotas, arg + 1 + 2 * quotas
end
return told
"""

RequestQuotas = Sequence[Quota]  # what one request counts in
RequestCounts = Sequence[Count] | None  # None while Redis is away


class LocalCounters:
    """Counters of this process alone. When full, the least recently used is dropped."""

    def __init__(self, *, clock: Clock, keys_max: int = LOCAL_KEYS_MAX) -> None:
        self._clock = clock
        self._keys_max = keys_max
        self._full_at: OrderedDict[str, datetime] = OrderedDict()

    async def add(self, quotas: Sequence[Quota]) -> Sequence[Count]:
        now = self._clock()
        spent = [max(self._full_at.get(quota.key, now) - now, NOTHING) for quota in quotas]
        counts = admit(quotas, spent)
        for count in counts:
            self._full_at[count.quota.key] = now + count.spent
            self._full_at.move_to_end(count.quota.key)
        while len(self._full_at) > self._keys_max:
            self._full_at.popitem(last=False)
        return counts


class RedisCounters:
    """Counters that all replicas share, with short timeouts and no second try.

    Concurrent requests are counted in one round trip: a round trip costs more than all other work
    of a read.
    """

    def __init__(self, url: SecretStr, *, fallback: Counters) -> None:
        self._pool = ConnectionPool.from_url(
            url.get_secret_value(),
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
            max_connections=CONCURRENT_BATCHES_MAX,
            protocol=2,
        )
        self._add: Any = Redis(connection_pool=self._pool).register_script(ADD)
        self._counting: CallBatcher[RequestQuotas, RequestCounts] = CallBatcher(
            self._count_batch, batch_max=BATCH_MAX, concurrent_batches_max=CONCURRENT_BATCHES_MAX
        )
        self._fallback = fallback
        self._unavailable_until = float("-inf")

    async def add(self, quotas: RequestQuotas) -> Sequence[Count]:
        counts = None if self._is_unavailable else await self._counting(quotas)
        return await self._fallback.add(quotas) if counts is None else counts

    async def close(self) -> None:
        await self._pool.disconnect()

    @property
    def _is_unavailable(self) -> bool:
        return monotonic() < self._unavailable_until

    async def _count_batch(
        self, batch: Sequence[RequestQuotas]
    ) -> Sequence[RequestCounts | Exception]:
        """Return what Redis counts; nothing while it is away."""
        if self._is_unavailable:
            return [None] * len(batch)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._add_all(batch)
        except Exception as error:  # whatever it is, a request is not refused for it
            self._unavailable_until = monotonic() + UNAVAILABLE_SECONDS
            observe.rate_limit_store_unavailable(error)
            return [None] * len(batch)

    async def _add_all(self, batch: Sequence[RequestQuotas]) -> Sequence[RequestCounts | Exception]:
        keys, numbers = [], []
        for quotas in batch:
            numbers.append(len(quotas))
            for quota in quotas:
                keys.append(f"swap-api/{quota.key}")
                numbers += (quota.whole // MICROSECOND, quota.cost // MICROSECOND)
        spent = iter(await self._add(keys=keys, args=numbers))
        return [admit(quotas, [next(spent) * MICROSECOND for _ in quotas]) for quotas in batch]
