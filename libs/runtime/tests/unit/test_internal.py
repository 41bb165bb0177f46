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
