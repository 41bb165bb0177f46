"""Problems of a network, working routes, and the requests to the api."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from swap_dashboard.domain.status import (
    NetworkStatus,
    RouteState,
    StatusDay,
    Trouble,
    route_state,
    to_good_share,
)
from swap_dashboard.ports import ApiUnavailable
from swap_dashboard.usecases.record_status import ReadStatus, RecordStatus

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_network(**changes: Any) -> NetworkStatus:
    values: dict[str, Any] = {
        "name": "A",
        "display_name": "Network A",
        "head": 7,
        "lag": timedelta(seconds=3),
        "liquidity": "available",
        "is_stopped": False,
        "is_closed": False,
        "stuck_swaps": 0,
    }
    return NetworkStatus(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "trouble"),
    [
        ({}, None),
        ({"stuck_swaps": None}, None),
        ({"liquidity": "partial"}, None),
        ({"is_stopped": True}, Trouble.STOPPED),
        ({"is_closed": True}, Trouble.CLOSED),
        ({"lag": None}, Trouble.SILENT),
        ({"lag": timedelta(minutes=16)}, Trouble.SILENT),
        ({"lag": timedelta(minutes=3)}, Trouble.SLOW),
        ({"liquidity": "none"}, Trouble.DRY),
        ({"stuck_swaps": 2}, Trouble.STUCK),
    ],
)
def test_a_network_has_the_trouble_that_it_reports(
    changes: dict[str, Any], trouble: Trouble | None
) -> None:
    assert a_network(**changes).troubles == (frozenset() if trouble is None else {trouble})


@pytest.mark.parametrize(
    ("source", "destination", "state"),
    [
        ({}, {}, RouteState.AVAILABLE),
        ({"liquidity": "none"}, {}, RouteState.AVAILABLE),
        ({}, {"liquidity": "partial"}, RouteState.LIMITED),
        ({"lag": timedelta(minutes=3)}, {}, RouteState.LIMITED),
        ({}, {"liquidity": "none"}, RouteState.NONE),
        ({"is_stopped": True}, {}, RouteState.NONE),
        ({}, {"is_closed": True}, RouteState.NONE),
        ({}, {"lag": None}, RouteState.NONE),
    ],
)
def test_route_state_depends_on_both_networks(
    source: dict[str, Any], destination: dict[str, Any], state: RouteState
) -> None:
    assert route_state(a_network(**source), a_network(**destination)) is state


def test_the_share_of_good_minutes_is_rounded_down() -> None:
    days = [StatusDay("A", date(2026, 1, 1), 1440, 1), StatusDay("A", date(2026, 1, 2), 1440, 0)]

    assert to_good_share(days) == "99.96 %"
    assert to_good_share([]) == "\N{EN DASH}"


class CountingApi:
    """An api that counts its requests."""

    def __init__(self, networks: Sequence[NetworkStatus] | None) -> None:
        self.networks_now = networks
        self.calls = 0

    async def networks(self) -> Sequence[NetworkStatus]:
        self.calls += 1
        if self.networks_now is None:
            raise ApiUnavailable("ConnectError")
        return self.networks_now


class StatusRecorder:
    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}

    async def record(self, seen: Any, at: datetime) -> None:
        self.seen = dict(seen)

    async def days(self, since: datetime) -> Sequence[Any]:
        return []

    async def incidents(self, since: datetime) -> Sequence[Any]:
        return []

    async def forget(self, before: datetime) -> None: ...


async def test_reads_within_ten_seconds_share_one_request() -> None:
    api, now = CountingApi([a_network()]), NOW
    read = ReadStatus(api, clock=lambda: now)

    for _ in range(5):
        await read()
    now += timedelta(seconds=11)
    await read()

    assert api.calls == 2


async def test_concurrent_reads_share_a_slow_answer() -> None:
    now = NOW

    class SlowApi(CountingApi):
        async def networks(self) -> Sequence[NetworkStatus]:
            nonlocal now
            now += timedelta(seconds=30)
            return await super().networks()

    api = SlowApi(None)
    read = ReadStatus(api, clock=lambda: now)

    await asyncio.gather(*(read() for _ in range(5)))

    assert api.calls == 1


async def test_unanswered_read_records_only_the_service_as_unavailable() -> None:
    history = StatusRecorder()
    read = ReadStatus(CountingApi(None), clock=lambda: NOW)

    await RecordStatus(read, history, clock=lambda: NOW)()

    assert history.seen == {"": frozenset({Trouble.UNAVAILABLE})}
