"""Counters of requests, in Redis and without it: one suite for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr
from redis import Redis

from swap_api.admission.adapters.counters import BATCH_MAX, LocalCounters, RedisCounters
from swap_api.admission.decide.rate_limits import Count, Quota
from swap_api.admission.ports import Counters
from swap_runtime.clock import utc_now

pytestmark = pytest.mark.connected

DAY = timedelta(days=1)


class NoFallback:
    async def add(self, quotas: object) -> Any:
        raise AssertionError("Redis did not answer")


@pytest.fixture(params=["redis", "local"])
async def counters(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Counters]:
    if request.param == "local":
        yield LocalCounters(clock=utc_now)
        return
    monkeypatch.setattr("swap_api.admission.adapters.counters.ANSWER_SECONDS", 10)
    port = request.getfixturevalue("valkey").port
    shared = RedisCounters(SecretStr(f"redis://127.0.0.1:{port}/0"), fallback=NoFallback())
    yield shared
    await shared.close()


def a_quota(limit: int, interval: timedelta = DAY) -> Quota:
    return Quota(str(uuid4()), limit, interval)


async def one(counters: Counters, quota: Quota) -> Count:
    (count,) = await counters.add([quota])
    return count


class TestCounters:
    async def test_allow_the_limit_at_once_and_return_the_remainder(
        self, counters: Counters
    ) -> None:
        quota = a_quota(3)

        counts = [await one(counters, quota) for _ in range(5)]

        assert [count.is_over for count in counts] == [False, False, False, True, True]
        assert [count.remaining for count in counts] == [2, 1, 0, 0, 0]

    async def test_contain_the_time_of_the_full_or_the_next_request(
        self, counters: Counters
    ) -> None:
        quota = a_quota(2)

        counts = [await one(counters, quota) for _ in range(3)]

        for count in counts:
            assert DAY - timedelta(minutes=5) < count.reset_after <= DAY

    async def test_let_one_more_through_for_each_interval(self, counters: Counters) -> None:
        quota = a_quota(2, timedelta(milliseconds=300))
        began = asyncio.get_running_loop().time()
        admitted = 0

        async with asyncio.timeout(30):
            while admitted < 6:
                count = await one(counters, quota)
                admitted += not count.is_over
                if count.is_over:
                    await asyncio.sleep(count.reset_after.total_seconds())

        assert asyncio.get_running_loop().time() - began >= 4 * 0.3 - 0.05

    async def test_count_in_all_quotas_or_in_none(self, counters: Counters) -> None:
        client, app = a_quota(1), a_quota(3)
        counts = [await counters.add([client, app]) for _ in range(4)]

        assert [[count.is_over for count in both] for both in counts] == [
            [False, False], [True, False], [True, False], [True, False],
        ]  # fmt: skip
        assert [both[1].remaining for both in counts] == [2, 2, 2, 2]

    @pytest.mark.fault("A15")
    async def test_charge_more_for_heavier_requests(self, counters: Counters) -> None:
        light = a_quota(10)
        heavy = replace(light, weight=4)

        counts = [await one(counters, quota) for quota in (heavy, light, heavy, heavy, light)]

        assert [(count.is_over, count.remaining) for count in counts] == [
            (False, 6), (False, 5), (False, 1), (True, 1), (False, 0),
        ]  # fmt: skip
        assert 2 * DAY < counts[3].reset_after <= 3 * DAY

    async def test_allow_the_first_request_above_the_limit(self, counters: Counters) -> None:
        quota = replace(a_quota(3), weight=50)

        assert [(await one(counters, quota)).is_over for _ in range(2)] == [False, True]

    async def test_allow_no_more_concurrent_requests_than_the_limit(
        self, counters: Counters
    ) -> None:
        quota = a_quota(5)

        counts = await asyncio.gather(*(one(counters, quota) for _ in range(12)))

        assert sum(not count.is_over for count in counts) == 5

    async def test_are_shared_by_more_than_go_together(self, counters: Counters) -> None:
        quota = a_quota(100)

        counts = await asyncio.gather(*(one(counters, quota) for _ in range(3 * BATCH_MAX)))

        assert sum(not count.is_over for count in counts) == 100
        assert sorted(count.remaining for count in counts if not count.is_over) == [*range(100)]

    async def test_keep_apart_what_is_counted_together(self, counters: Counters) -> None:
        client, other, app = a_quota(2), a_quota(9), a_quota(5)
        batch = [[client, app], [app], [client, app], [other, app], [client, app], [app], [app]]

        counts = await asyncio.gather(*(counters.add(quotas) for quotas in batch))

        assert [[count.remaining for count in request] for request in counts] == [
            [1, 4], [3], [0, 2], [8, 1], [0, 1], [0], [0],
        ]  # fmt: skip
        assert [any(count.is_over for count in request) for request in counts] == [
            False, False, False, False, True, False, True,
        ]  # fmt: skip


async def test_concurrent_requests_are_counted_in_few_round_trips(
    valkey: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swap_api.admission.adapters.counters.ANSWER_SECONDS", 10)
    counters = RedisCounters(SecretStr(f"redis://127.0.0.1:{valkey.port}/0"), fallback=NoFallback())
    quota = a_quota(1000)
    with Redis(host="127.0.0.1", port=valkey.port) as redis:
        await one(counters, quota)  # the script is loaded from here on
        before = redis.info("commandstats")["cmdstat_evalsha"]["calls"]
        await asyncio.gather(*(one(counters, quota) for _ in range(500)))
        trips = redis.info("commandstats")["cmdstat_evalsha"]["calls"] - before
    await counters.close()

    assert trips <= 2 + 500 // BATCH_MAX + 1
