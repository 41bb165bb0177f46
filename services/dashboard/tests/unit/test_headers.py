"""Pages are counted by their declared route, and have the headers of security."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import AsyncMock, Mock

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from swap_dashboard.console.http import site as console_site
from swap_dashboard.http import site as dashboard_site
from swap_dashboard.http.headers import SecurityHeaders
from swap_runtime.telemetry.metrics import REGISTRY


async def page(_: Request) -> Response:
    return PlainTextResponse("here")


@pytest.fixture
def site() -> ASGIApp:
    ticks = iter(range(100))
    headers = Middleware(SecurityHeaders, is_https=False, timer=lambda: float(next(ticks)))
    routes = [Route("/swaps/{id}", page), Mount("/static", PlainTextResponse("file"))]
    return Starlette(routes=routes, middleware=[headers])


@pytest.mark.parametrize(
    ("path", "route", "status"),
    [
        ("/swaps/4711", "/swaps/{id}", "2xx"),
        ("/static/style.css", "/static", "2xx"),
        ("/nowhere/4711", "unknown", "4xx"),
    ],
)
async def test_a_page_is_counted_by_its_route(
    site: ASGIApp, path: str, route: str, status: str
) -> None:
    def numbers() -> list[float]:
        labels = {"route": route}
        return [
            REGISTRY.get_sample_value("swap_dashboard_page_seconds_sum", labels) or 0,
            REGISTRY.get_sample_value("swap_dashboard_page_seconds_count", labels) or 0,
            REGISTRY.get_sample_value("swap_dashboard_pages_total", {**labels, "status": status})
            or 0,
        ]

    before = numbers()
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(site), base_url="http://here.test"
    ) as browser:
        await browser.get(path)

    assert [now - then for now, then in zip(numbers(), before, strict=True)] == [1, 1, 1]


def a_dashboard(section: Mock) -> ASGIApp:
    layout = Mock(plain=Mock(return_value=Response(status_code=500)))
    return dashboard_site.build_site([section], layout, is_https=False)


def a_console(section: Mock) -> ASGIApp:
    errors = Mock(answer_failure=AsyncMock(return_value=Response(status_code=500)))
    return console_site.build_site([section], errors, is_https=False)


@pytest.mark.parametrize("build", [a_dashboard, a_console])
async def test_unhandled_error_is_counted_and_has_the_headers(
    build: Callable[[Mock], ASGIApp],
) -> None:
    async def fail(_: Request) -> Response:
        raise RuntimeError

    labels = {"route": "/bad/{id}", "status": "5xx"}
    site = build(Mock(routes=lambda: [Route("/bad/{id}", fail)]))
    before = REGISTRY.get_sample_value("swap_dashboard_pages_total", labels) or 0
    transport = httpx.ASGITransport(site, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here.test") as browser:
        answer = await browser.get("/bad/4711")

    assert answer.status_code == 500
    assert answer.headers["x-frame-options"] == "DENY"
    assert REGISTRY.get_sample_value("swap_dashboard_pages_total", labels) == before + 1
