"""Limits of a request's head and of an exchange's time, over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from swap_runtime.http import http_limits
from swap_runtime.http.asgi import AsgiServer
from swap_runtime.http.http_limits import HEAD_BYTES_MAX, LimitedHttpProtocol
from swap_runtime.settings import IDLE_TIMEOUT

CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
EXPECTING = CHUNKED.replace(b"host: a", b"expect: 100-continue")
WITHIN_SECONDS = 10
SOON = timedelta(seconds=0.3)


async def count_body(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the number of received bytes."""
    if scope["type"] != "http":
        return
    size, has_more = 0, True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        has_more = message["more_body"]
    body = str(size).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(scope: Any, receive: Any, send: Any) -> None:
    """Refuse POST before its body, and everything else late."""
    if scope["type"] == "http":
        if scope["method"] != "POST":
            await asyncio.sleep(2 * SOON.total_seconds())
        headers = [(b"content-length", b"1")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"!"})


@asynccontextmanager
async def serving(app: Any, idle_timeout: timedelta = IDLE_TIMEOUT) -> AsyncIterator[int]:
    server = AsgiServer(app, "127.0.0.1", 0, idle_timeout)
    yield await server.start()
    await server.stop()


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serving(count_body) as port:
        yield port


async def ask(
    port: int, *parts: bytes, first: tuple[bytes, bytes] | None = None, until: bytes | None = None
) -> bytes:
    """Send the parts, and return the answer up to a text or to the end.

    :param first: sent before, with the answer that must have arrived for it.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(WITHIN_SECONDS):
            if first is not None:
                writer.write(first[0])
                await reader.readuntil(first[1])
            writer.writelines(parts)
            return await (reader.read() if until is None else reader.readuntil(until))
    finally:
        writer.close()


def filled(begin: bytes, size: int = HEAD_BYTES_MAX + 1) -> bytes:
    """Return this many bytes with this beginning, without an end of the head."""
    return begin + b"x" * (size - len(begin))


def headers(number: int) -> Iterable[bytes]:
    return (b"name-%06d: value\r\n" % i for i in range(number))


class TestRefuses:
    @pytest.mark.parametrize(
        "begin", [b"GET /", b"GET / HTTP/1.1\r\nhost: ", b"GET / HTTP/1.1\r\nhost"]
    )
    async def test_a_head_without_an_end(self, port: int, begin: bytes) -> None:
        assert (await ask(port, filled(begin))).startswith(b"HTTP/1.1 431 ")

    async def test_headers_without_an_end(self, port: int) -> None:
        many = b"GET / HTTP/1.1\r\n" + b"".join(headers(HEAD_BYTES_MAX))

        assert (await ask(port, many[: HEAD_BYTES_MAX + 1])).startswith(b"HTTP/1.1 431 ")

    async def test_trailers_without_an_end(self, port: int) -> None:
        many = b"0\r\n" + b"".join(headers(HEAD_BYTES_MAX))
        first = (EXPECTING, b" 100 Continue\r\n\r\n")

        answer = await ask(port, many[: HEAD_BYTES_MAX + 1], first=first)

        assert answer.startswith(b"HTTP/1.1 431 ")

    async def test_the_next_request_of_a_connection_alike(self, port: int) -> None:
        first = (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", b"\r\n\r\n0")

        answer = await ask(port, filled(b"GET /"), first=first)

        assert answer.startswith(b"HTTP/1.1 431 ")

    async def test_a_head_that_came_whole_in_one_read(self) -> None:
        transport = Transport()
        config = uvicorn.Config(count_body, log_config=None)
        protocol = LimitedHttpProtocol(config, ServerState(), {})
        protocol.connection_made(transport)

        protocol.data_received(filled(b"GET /") + b" HTTP/1.1\r\nhost: a\r\n\r\n")

        assert transport.written.startswith(b"HTTP/1.1 431 ")
        assert transport.is_closed
        assert protocol.cycle is None


class TestAnswers:
    async def test_in_one_write(self) -> None:
        transport = Transport()
        protocol = LimitedHttpProtocol(
            uvicorn.Config(count_body, log_config=None), ServerState(), {}
        )
        protocol.connection_made(transport)

        protocol.data_received(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        async with asyncio.timeout(WITHIN_SECONDS):
            while not transport.written:  # noqa: ASYNC110  no event for it
                await asyncio.sleep(0)

        assert transport.written.startswith(b"HTTP/1.1 200 ")
        assert transport.written.endswith(b"\r\n\r\n0")
        assert transport.writes == 1

    async def test_with_a_head_that_does_not_wait_for_its_body(self) -> None:
        may_go_on = asyncio.Event()

        async def answer_later(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                return
            headers = [(b"content-length", b"1")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await may_go_on.wait()
            await send({"type": "http.response.body", "body": b"!"})

        async with serving(answer_later) as port:
            request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
            try:
                assert (await ask(port, request, until=b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            finally:
                may_go_on.set()


class TestEndsInTime:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(http_limits, "EXCHANGE_SECONDS_MAX", 0.2)

    async def test_a_connection_on_which_nothing_comes(self, port: int) -> None:
        assert await ask(port) == b""

    @pytest.mark.parametrize(
        "begin", [b"G", b"GET / HTTP/1.1\r\nhost: a", CHUNKED, CHUNKED + b"1\r\na\r\n"]
    )
    async def test_a_request_that_stops(self, port: int, begin: bytes) -> None:
        assert (await ask(port, begin)).startswith(b"HTTP/1.1 408 ")

    @pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"])
    @pytest.mark.parametrize(
        ("begin", "drop"),
        [
            (b"", b"\r\n"),
            (b"GET / HTTP/1.1\r\nhost: a", b"a"),
            (CHUNKED, b"1\r\na\r\n"),
        ],
    )
    async def test_a_request_that_comes_drop_by_drop(
        self, port: int, first: bytes, begin: bytes, drop: bytes
    ) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(first + begin)

        # Data that arrives after the close resets the connection, which has ended then too.
        async with asyncio.timeout(WITHIN_SECONDS):
            with suppress(ConnectionResetError):
                while not reader.at_eof():
                    writer.write(drop)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(1000), 0.02)

        writer.close()

    async def test_an_answer_to_a_closed_connection(self) -> None:
        ended = asyncio.Event()

        async def send_large_body(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                await send({"type": "http.response.start", "status": 200, "headers": []})
                for _ in range(1000):
                    body = {"type": "http.response.body", "body": b"x" * 2**16, "more_body": True}
                    await send(body)
                await receive()
                await receive()
                ended.set()

        async with serving(send_large_body) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
            writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            await asyncio.wait_for(ended.wait(), WITHIN_SECONDS)
            writer.close()

    async def test_an_answer_that_never_comes(self) -> None:
        async def wait_for_the_end(scope: Any, receive: Any, send: Any) -> None:
            while scope["type"] == "http" and (await receive())["type"] == "http.request":
                pass

        async with serving(wait_for_the_end) as port:
            answer = await ask(port, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 503 ")

    async def test_no_connection_that_is_used_again_and_again(self, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async with asyncio.timeout(WITHIN_SECONDS):
            until = asyncio.get_running_loop().time() + 0.5
            while asyncio.get_running_loop().time() < until:
                writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
                assert (await reader.readuntil(b"\r\n\r\n0")).startswith(b"HTTP/1.1 200 ")

        writer.close()


class TestIdleConnections:
    BEGIN = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n"

    def test_are_kept_for_longer_than_load_balancers_keep_them(self) -> None:
        assert timedelta(seconds=60) < IDLE_TIMEOUT

    async def test_end_when_nothing_was_asked_for_so_long(self) -> None:
        async with serving(count_body, SOON) as port:
            began = asyncio.get_running_loop().time()
            answer = await ask(port, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            lasted = asyncio.get_running_loop().time() - began

        assert answer.startswith(b"HTTP/1.1 200 ")
        assert lasted >= SOON.total_seconds()

    async def test_end_too_after_a_body_that_came_later_than_its_answer(self) -> None:
        async with serving(refuse, SOON) as port:
            assert await ask(port, b"12345", first=(self.BEGIN, b"\r\n\r\n!")) == b""

    async def test_end_too_when_half_a_request_came_behind_that_body(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Long enough for a client on a busy machine to send the rest before the connection is idle.
        monkeypatch.setattr(http_limits, "EXCHANGE_SECONDS_MAX", 3)
        async with serving(refuse, timedelta(seconds=2)) as port:
            rest = b"12345" + b"GET / HT"
            answer = await ask(port, rest, first=(self.BEGIN, b"\r\n\r\n!"))

        assert answer.startswith(b"HTTP/1.1 408 ")

    async def test_are_none_while_the_next_request_is_answered(self) -> None:
        async with serving(refuse, SOON) as port:
            rest = b"12345" + b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
            answer = await ask(port, rest, first=(self.BEGIN, b"\r\n\r\n!"))

        assert answer.startswith(b"HTTP/1.1 401 ")


class TestLetsPass:
    async def test_a_head_that_is_large(self, port: int) -> None:
        head = filled(b"GET / HTTP/1.1\r\nhost: ", HEAD_BYTES_MAX - 4) + b"\r\n\r\n"

        assert (await ask(port, head, until=b"\r\n\r\n0")).startswith(b"HTTP/1.1 200 ")

    @pytest.mark.parametrize("number", [1, 2])
    async def test_a_body_that_is_larger(self, port: int, number: int) -> None:
        size = 4 * HEAD_BYTES_MAX
        head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % size

        answer = await ask(port, *[head + b"x" * size] * number, until=b"\r\n\r\n%d" % size)

        assert answer.startswith(b"HTTP/1.1 200 ")

    async def test_a_body_in_chunks_that_is_larger(self, port: int) -> None:
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"

        answer = await ask(port, CHUNKED, chunk * 32, b"0\r\n\r\n", until=b"%d" % (32 * 0x1000))

        assert answer.startswith(b"HTTP/1.1 200 ")

    async def test_an_unreadable_request_is_answered_in_the_envelope(self, port: int) -> None:
        head, _, body = (await ask(port, b"nonsense\r\n\r\n")).partition(b"\r\n\r\n")

        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: application/json" in head
        assert json.loads(body)["error"]["code"] == "VALIDATION_ERROR"


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.writes = 0
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.written += data
        self.writes += 1

    def close(self) -> None:
        self.is_closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_closed
