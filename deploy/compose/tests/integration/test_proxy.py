"""The Caddyfile in a real Caddy before a real server; skipped without Caddy."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from swap_stack.ports import Ports
from tests.support.serving import get, post, serve
from tests.support.waiting import until

CADDY = os.environ.get("CADDY") or shutil.which("caddy")
FILE = Path(__file__).parents[2] / "proxy/Caddyfile"
# Longer than a client waits for the event. The proxy waits for the end of a stream at its stop.
STREAM_SECONDS = 6
pytestmark = [
    pytest.mark.connected,
    pytest.mark.skipif(CADDY is None, reason="there is no Caddy here"),
]


async def echo(request: Request) -> Response:
    return JSONResponse({"forwarded": request.headers.getlist("x-forwarded-for")})


async def receive(request: Request) -> Response:
    return JSONResponse({"bytes": len(await request.body())})


async def stream(_: Request) -> Response:
    async def events() -> AsyncIterator[bytes]:
        yield b"data: first\n\n"
        await asyncio.sleep(STREAM_SECONDS)

    return StreamingResponse(events(), media_type="text/event-stream")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    routes = [
        get("/echo", echo),
        post("/receive", receive),
        get("/stream", stream),
        get("/admin", echo),
    ]
    port = Ports(tmp_path / "ports.json").take("proxy")
    async with serve(Starlette(routes=routes)) as url:
        environment = {
            **os.environ,
            "SWAP_SITE": f"http://127.0.0.1:{port}",
            "SWAP_UPSTREAM": url.removeprefix("http://"),
            "XDG_DATA_HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path),
        }
        process = await asyncio.create_subprocess_exec(
            *(str(CADDY), "run", "--config", str(FILE), "--adapter", "caddyfile"),
            env=environment,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:

                async def answers() -> bool:
                    try:
                        return (await session.get("/echo")).ok
                    except aiohttp.ClientError:
                        return False

                await until(answers, what="an answer of the proxy")
                yield session
        finally:
            process.terminate()
            await process.wait()


async def test_the_address_sent_by_a_client_is_replaced(
    client: aiohttp.ClientSession,
) -> None:
    answer = await client.get("/echo", headers={"X-Forwarded-For": "203.0.113.9"})

    assert await answer.json() == {"forwarded": ["127.0.0.1"]}


async def test_internal_addresses_are_not_passed_on(client: aiohttp.ClientSession) -> None:
    for path in ("/admin", "/admin/signers", "/metrics", "/readyz"):
        assert (await client.get(path)).status == 404


async def test_an_event_is_forwarded_while_its_stream_is_open(
    client: aiohttp.ClientSession,
) -> None:
    async with asyncio.timeout(5):
        answer = await client.get("/stream")
        assert await answer.content.readline() == b"data: first\n"
        answer.close()


async def test_a_large_body_is_refused(client: aiohttp.ClientSession) -> None:
    accepted = await client.post("/receive", data=b"x" * 900_000)
    refused = await client.post("/receive", data=b"x" * 2_000_000)

    assert await accepted.json() == {"bytes": 900_000}
    assert refused.status in (413, 502)
