"""The overview of the console while services refuse, do not answer, or have nothing."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from swap_dashboard.console.ports import ServiceName
from tests.console.operated import ADDRESS, UNAVAILABLE_URL, Console, Services
from tests.plugins.postgres import Database
from tests.support.serving import served

pytestmark = pytest.mark.connected
WATCHER_ANSWERS: dict[str, Any] = {
    "/admin/identity": {"name": "ann", "role": "operator"},
    "/admin/networks": {"networks": []},
    "/admin/parked": {"parked": []},
    "/admin/approvals": {"approvals": []},
}


async def refuse(_: Request) -> Response:
    return JSONResponse({"error": "this role reads nothing"}, 403)


async def answer(request: Request) -> Response:
    return JSONResponse(WATCHER_ANSWERS[request.url.path])


async def test_overview_names_a_refusal_once(database: Database) -> None:
    async with AsyncExitStack() as running:
        urls = dict.fromkeys(ServiceName, UNAVAILABLE_URL)
        for service, handler in (
            (ServiceName.SETTLER, refuse),
            (ServiceName.CHAIN_WATCHER, answer),
        ):
            site = Starlette(routes=[Route("/{path:path}", handler)])
            urls[service] = await running.enter_async_context(served(site))
        console = Console(Services(database, urls), public_url=ADDRESS)
        running.push_async_callback(console.http.close)
        page = (await (await console.sign_in_as("ann")).get("/")).text

    assert page.count("settler refuses the request: this role reads nothing") == 1
    assert "No answer from api, dashboard, notifier, quoter:" in page
    assert "No network is read yet." in page
