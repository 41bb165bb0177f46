"""The number of permitted requests, in any minute and over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from api_factories import AT, a_caller

from swap_api.admission.adapters.counters import LocalCounters
from swap_api.admission.decide.rate_limits import Kind, Quota, Rates
from swap_api.model.keys import KeyKind

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


async def admitted(quota: Quota, moments: Sequence[datetime]) -> list[datetime]:
    """Return the permitted requests."""
    now = AT
    counters = LocalCounters(clock=lambda: now)
    through = []
    for now in moments:
        (count,) = await counters.add([quota])
        if not count.is_over:
            through.append(now)
    return through


class TestQuotas:
    @pytest.mark.parametrize("kind", list(Kind))
    async def test_hold_in_every_minute_wherever_it_begins(self, kind: Kind) -> None:
        rates = Rates(reads=60, prices=30, creates=20)
        caller = a_caller(kind=KeyKind.PUBLISHABLE)
        quota, _ = rates.quotas(caller, "192.0.2.1", kind)
        rate = rates.of(kind, caller.allowances)
        bursts = [AT + n * 13 * SECOND for n in range(40) for _ in range(2 * rate)]

        through = await admitted(quota, bursts)

        assert sum(at == AT for at in through) == 2 * rate
        for begin in set(through):
            assert sum(begin <= at < begin + MINUTE for at in through) <= 3 * rate
        lasted = (bursts[-1] - AT) / MINUTE
        assert len(through) <= rate * (2 + lasted)

    async def test_let_a_steady_caller_through_for_ever(self) -> None:
        quota, _ = Rates(creates=30).quotas(
            a_caller(kind=KeyKind.PUBLISHABLE), "192.0.2.1", Kind.CREATE
        )
        moments = [AT + n * 2 * SECOND for n in range(500)]

        assert await admitted(quota, moments) == moments

    async def test_give_back_one_request_long_before_all(self) -> None:
        quota, _ = Rates(creates=30).quotas(
            a_caller(kind=KeyKind.PUBLISHABLE), "192.0.2.1", Kind.CREATE
        )
        counters = LocalCounters(clock=lambda: AT)

        counts = [(await counters.add([quota]))[0] for _ in range(61)]

        assert counts[29].reset_after == MINUTE
        assert (counts[-1].is_over, counts[-1].reset_after) == (True, 2 * SECOND)

    async def test_are_never_so_large_that_they_have_no_interval(self) -> None:
        (quota,) = Rates(reads=10**9).quotas(a_caller(), "", Kind.READ)

        assert quota.interval > timedelta(0)

    @pytest.mark.parametrize("burst_minutes", [1, 2, 10])
    async def test_let_so_many_minutes_worth_through_at_once(self, burst_minutes: int) -> None:
        rates = Rates(reads=6, burst_minutes=burst_minutes, ceiling_factor=1)
        (quota,) = rates.quotas(a_caller(), "", Kind.READ)

        assert len(await admitted(quota, [AT] * 100)) == 6 * burst_minutes
        assert quota.interval == 10 * SECOND


class TestLocalCounters:
    async def test_evict_the_least_recently_seen_client(self) -> None:
        counters = LocalCounters(clock=lambda: AT, keys_max=2)
        one, two, three = (Quota(name, 1, SECOND) for name in ("one", "two", "three"))

        refusals = [
            (await counters.add([quota]))[0].is_over for quota in (one, two, one, three, one)
        ]
        (again,) = await counters.add([two])

        assert refusals == [False, False, True, False, True]
        assert not again.is_over
