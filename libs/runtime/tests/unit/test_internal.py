"""The internal port by itself."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web
from pydantic import SecretStr

from swap_runtime import internal
from swap_runtime.internal import AdminRoute, Internal


async def nothing() -> dict[str, str]:
    return {}


@pytest.mark.fault("M11")
async def test_a_request_that_never_ends_keeps_the_process_from_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(internal, "STOP_SECONDS", 0.1)
    has_begun = asyncio.Event()

    async def never_answer(_: web.Request) -> web.StreamResponse:
        has_begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    one = Internal(
        token=SecretStr("token"),
        alive=dict,
        ready=nothing,
        notes=dict,
        admin=[AdminRoute("GET", "/endless", never_answer)],
    )
    url = f"http://127.0.0.1:{await one.start('127.0.0.1', 0)}/admin/endless"
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer token"}) as session:
        asked = asyncio.create_task(session.get(url))
        await has_begun.wait()

        async with asyncio.timeout(10):
            await one.stop()

        with pytest.raises(aiohttp.ClientError):
            await asked
