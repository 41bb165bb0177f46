"""Problems of a network, working routes, and the requests to the api."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse

from swap_dashboard.adapters.status_api import PATH, HttpStatusApi
from swap_dashboard.domain.status import (
    NetworkStatus,
    RouteState,
    StatusDay,
    Trouble,
    route_state,
    to_good_share,
)
from swap_dashboard.ports import Clock
from swap_dashboard.usecases.record_status import ReadStatus
from tests.support.serving import get, serve

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


class StatusRoute:
    """The api's public route, which counts its requests."""

    def __init__(
        self, *, status: int = 200, while_answering: Callable[[], None] = lambda: None
    ) -> None:
        self.requests = 0
        self._status = status
        self._while_answering = while_answering

    async def answer(self, request: Request) -> JSONResponse:
        self.requests += 1
        self._while_answering()
        return JSONResponse({"data": {"networks": []}, "error": None}, self._status)


@asynccontextmanager
async def reading(route: StatusRoute, clock: Clock) -> AsyncIterator[ReadStatus]:
    async with serve(Starlette(routes=[get(PATH, route.answer)])) as url:
        api = HttpStatusApi(url, answer_seconds=5)
        yield ReadStatus(api, clock=clock)
        await api.close()


async def test_reads_within_ten_seconds_share_one_request() -> None:
    route, now = StatusRoute(), NOW

    async with reading(route, lambda: now) as read:
        for _ in range(5):
            assert await read() == []
        now += timedelta(seconds=11)
        await read()

    assert route.requests == 2


@pytest.mark.parametrize("status", [200, 503])
async def test_concurrent_reads_share_a_slow_answer(status: int) -> None:
    now = NOW

    def pass_time() -> None:
        nonlocal now
        now += timedelta(seconds=30)

    route = StatusRoute(status=status, while_answering=pass_time)
    async with reading(route, lambda: now) as read:
        await asyncio.gather(*(read() for _ in range(5)))

    assert route.requests == 1
