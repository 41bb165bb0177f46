"""A process without a database: its ports, its health and its end."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from swap_runtime.process.stateless import Stateless
from tests.plugins.processes import free_port
from tests.support.waiting import until

pytestmark = pytest.mark.connected


async def hello(_: Request) -> Response:
    return PlainTextResponse("hello")


async def test_process_serves_and_reports_its_health_until_it_is_stopped() -> None:
    internal, port, closed = free_port(), free_port(), asyncio.Event()
    process = Stateless("test", host="127.0.0.1", internal_port=internal, log_level="INFO")
    process.serve(Starlette(routes=[Route("/", hello)]), port=port)

    async def close() -> None:
        closed.set()

    process.on_stop(close)
    running = asyncio.create_task(process.run())

    async with httpx.AsyncClient() as http:

        async def is_ready() -> bool:
            try:
                answer = await http.get(f"http://127.0.0.1:{internal}/readyz")
            except httpx.HTTPError:
                return False
            return bool(answer.json()["ok"])

        await until(is_ready, what="the process is ready")
        assert (await http.get(f"http://127.0.0.1:{port}/")).text == "hello"
        assert (await http.get(f"http://127.0.0.1:{internal}/livez")).status_code == 200
        assert (await http.get(f"http://127.0.0.1:{internal}/metrics")).status_code == 200
        assert (await http.get(f"http://127.0.0.1:{internal}/admin/signers")).status_code == 404

    process.stop()
    assert await running == 0
    assert closed.is_set()


async def test_a_port_in_use_is_an_error() -> None:
    port = free_port()
    first = Stateless("test", host="127.0.0.1", internal_port=port, log_level="INFO")
    running = asyncio.create_task(first.run())
    await asyncio.sleep(0.3)

    with pytest.raises(OSError, match="cannot listen"):
        await Stateless("test", host="127.0.0.1", internal_port=port, log_level="INFO").run()

    first.stop()
    assert await running == 0
