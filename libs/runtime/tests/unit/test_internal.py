"""The internal port alone."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import Response

from swap_runtime.http import internal
from swap_runtime.operators.admin_routes import AdminRoute
from swap_runtime.operators.identities import Operator, Role
from swap_runtime.postgres.database import create_engine
from swap_runtime.telemetry.metrics import REGISTRY
from tests.plugins.internal_port import internal_port


@pytest.mark.fault("M11")
async def test_a_request_that_never_ends_does_not_delay_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(internal, "STOP_SECONDS", 0.1)
    has_begun = asyncio.Event()

    async def never_answer(_: Request) -> Response:
        has_begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    one = internal_port(
        create_engine(SecretStr("postgresql://nowhere"), application_name="test"),
        {"token": Operator("ann", Role.VIEWER)},
        reads=[AdminRoute("GET", "/endless", never_answer)],
    )
    url = f"http://127.0.0.1:{await one.start('127.0.0.1', 0)}/admin/endless"
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer token"}) as session:
        pending_request = asyncio.create_task(session.get(url))
        await has_begun.wait()

        async with asyncio.timeout(10):
            await one.stop()

        assert (await pending_request).status == 500


async def test_answers_to_operators_are_counted_by_route_and_probes_are_not() -> None:
    async def answer_empty(_: Request) -> Response:
        return Response()

    async def fail(_: Request) -> Response:
        raise RuntimeError

    one = internal_port(
        create_engine(SecretStr("postgresql://nowhere"), application_name="test"),
        {"token": Operator("ann", Role.VIEWER)},
        reads=[AdminRoute("GET", "/things/{id}", answer_empty), AdminRoute("GET", "/bad", fail)],
    )
    url = f"http://127.0.0.1:{await one.start('127.0.0.1', 0)}"
    answered, refused = counted("/admin/things/{id}", "2xx"), counted("", "4xx")
    failed = counted("/admin/bad", "5xx")
    async with aiohttp.ClientSession() as session:
        await session.get(f"{url}/admin/things/7", headers={"Authorization": "Bearer token"})
        await session.get(f"{url}/admin/things/7")  # refused before its route is known
        await session.get(f"{url}/admin/bad", headers={"Authorization": "Bearer token"})
        await session.get(f"{url}/livez")
    await one.stop()

    assert counted("/admin/things/{id}", "5xx") == 0
    assert counted("/admin/things/{id}", "2xx") == answered + 1
    assert counted("", "4xx") == refused + 1
    assert counted("/admin/bad", "5xx") == failed + 1
    assert counted("/livez", "2xx") == 0


def counted(route: str, status: str) -> float:
    labels = {"route": route, "status": status}
    return REGISTRY.get_sample_value("swap_internal_answers_total", labels) or 0
