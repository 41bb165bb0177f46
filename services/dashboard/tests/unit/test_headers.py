"""Pages are counted by their declared route."""

from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

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
