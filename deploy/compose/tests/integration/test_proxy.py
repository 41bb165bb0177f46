"""The Caddyfile in a real Caddy before a real server; skipped without Caddy."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from swap_api.swaps.usecases.stream_time import OPEN_FOR
from swap_runtime.http import http_limits
from swap_runtime.http.http_limits import EXCHANGE_SECONDS_MAX, HEAD_BYTES_MAX
from swap_runtime.settings import IDLE_TIMEOUT
from swap_stack.ports import Ports
from tests.support.serving import get, post, serve
from tests.support.waiting import until

CADDY = os.environ.get("CADDY") or shutil.which("caddy")
FILE = Path(__file__).parents[2] / "proxy/Caddyfile"
# Longer than a client waits for the event. The proxy waits for the end of a stream at its stop.
STREAM_SECONDS = 6
LINES = re.compile(r"^\s*(read_header|read_body|write|idle) (\d+)s$", re.MULTILINE)
# Of the limits of time, in the tests of them; the other tests use the file as it is.
DIVISOR = 10
pytestmark = [
    pytest.mark.connected,
    pytest.mark.skipif(CADDY is None, reason="there is no Caddy here"),
]


async def echo(request: Request) -> Response:
    return JSONResponse({"forwarded": request.headers.getlist("x-forwarded-for")})


async def receive(request: Request) -> Response:
    return JSONResponse({"bytes": len(await request.body())})


async def stream(request: Request) -> Response:
    async def events() -> AsyncIterator[bytes]:
        yield b"data: first\n\n"
        await asyncio.sleep(float(request.query_params.get("seconds", STREAM_SECONDS)))
        yield b"data: last\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


@asynccontextmanager
async def proxied(folder: Path, file: Path = FILE) -> AsyncIterator[str]:
    """Serve a Caddyfile before a real server, and yield the URL."""
    routes = [
        get("/echo", echo),
        post("/receive", receive),
        get("/stream", stream),
        get("/admin", echo),
    ]
    port = Ports(folder / "ports.json").take("proxy")
    async with serve(Starlette(routes=routes)) as upstream:
        environment = {
            **os.environ,
            "SWAP_SITE": f"http://127.0.0.1:{port}",
            "SWAP_UPSTREAM": upstream.removeprefix("http://"),
            "XDG_DATA_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
        }
        process = await asyncio.create_subprocess_exec(
            *(str(CADDY), "run", "--config", str(file), "--adapter", "caddyfile"),
            env=environment,
            stderr=asyncio.subprocess.DEVNULL,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            async with aiohttp.ClientSession(url) as session:

                async def answers() -> bool:
                    try:
                        return (await session.get("/echo")).ok
                    except aiohttp.ClientError:
                        return False

                await until(answers, what="an answer of the proxy")
            yield url
        finally:
            process.terminate()
            await process.wait()


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    async with proxied(tmp_path) as url, aiohttp.ClientSession(url) as session:
        yield session


@pytest.fixture
async def port_with_short_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[int]:
    """Serve the Caddyfile with its limits of time and the api's divided, and yield the port."""
    monkeypatch.setattr(http_limits, "EXCHANGE_SECONDS_MAX", EXCHANGE_SECONDS_MAX / DIVISOR)
    file = tmp_path / "Caddyfile"
    file.write_text(
        LINES.sub(lambda one: f"{one[1]} {int(one[2]) * 1000 // DIVISOR}ms", FILE.read_text())
    )
    async with proxied(tmp_path, file) as url:
        yield int(url.rpartition(":")[2])


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


def test_the_api_ends_an_exchange_before_the_proxy() -> None:
    limits = {name: float(seconds) for name, seconds in LINES.findall(FILE.read_text())}

    assert limits["read_body"] > limits["read_header"] + EXCHANGE_SECONDS_MAX
    assert limits["write"] > limits["read_body"]
    assert OPEN_FOR.total_seconds() < EXCHANGE_SECONDS_MAX
    assert limits["idle"] == IDLE_TIMEOUT.total_seconds()


async def test_a_large_head_is_refused(client: aiohttp.ClientSession) -> None:
    # Beyond the limit, the program reads 4 KiB more.
    accepted = await client.get("/echo", headers={"X-Large": "x" * (HEAD_BYTES_MAX - 4096)})
    refused = await client.get("/echo", headers={"X-Large": "x" * (HEAD_BYTES_MAX + 8192)})

    assert accepted.status == 200
    assert refused.status == 431


async def answer_to(sent: bytes, port: int) -> bytes:
    """Return what arrives until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        async with asyncio.timeout(2 * EXCHANGE_SECONDS_MAX / DIVISOR):
            return await reader.read()
    finally:
        writer.close()


async def test_a_head_that_never_ends_is_ended(port_with_short_limits: int) -> None:
    answer = await answer_to(b"GET /echo HTTP/1.1\r\nhost: proxy\r\n", port_with_short_limits)

    assert b" 200 " not in answer


async def test_the_connection_of_a_body_that_never_ends_is_ended(
    port_with_short_limits: int,
) -> None:
    head = b"POST /receive HTTP/1.1\r\nhost: proxy\r\ncontent-length: 10\r\n\r\n"

    answer = await answer_to(head + b"12345", port_with_short_limits)

    assert b"bytes" not in answer  # the handler got no whole body


async def test_a_stream_goes_on_beside_the_limits(port_with_short_limits: int) -> None:
    """For longer than the api keeps one open, in the same proportion."""
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port_with_short_limits}") as session:
        seconds = 2 * OPEN_FOR.total_seconds() / DIVISOR
        answer = await session.get("/stream", params={"seconds": f"{seconds}"})

        assert await answer.read() == b"data: first\n\ndata: last\n\n"
