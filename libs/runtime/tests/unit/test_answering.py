"""Questions over real sockets to a function, and the bounds of what is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from swap_runtime.http import answering
from swap_runtime.http.answering import BODY_BYTES_MAX, HEAD_BYTES_MAX, PIPELINED_MAX, AnswerServer

pytestmark = pytest.mark.connected


def echo(method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
    if body == b"bug":
        raise RuntimeError
    if body is None:
        return 413, b"{}"
    return 200, b"%b %b %b" % (method.encode(), path.encode(), body)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    server = AnswerServer(echo, "127.0.0.1", 0)
    yield await server.start()
    await server.stop()


async def send_request(port: int, *parts: bytes) -> bytes:
    """Send the parts, one read each, and return what came until the other side closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        response = await reader.read()
    writer.close()
    return response


def post(body: bytes, *, last: bool = True) -> bytes:
    close = b"connection: close\r\n" if last else b""
    head = b"POST /quote?a=b HTTP/1.1\r\nhost: a\r\n%bcontent-length: %d\r\n\r\n"
    return head % (close, len(body)) + body


async def test_answers_with_what_the_function_returns(port: int) -> None:
    response = await send_request(port, post(b"{}"))

    head, _, body = response.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-length: 14" in head
    assert body == b"POST /quote {}"


async def test_answers_pipelined_questions_in_their_order(port: int) -> None:
    response = await send_request(
        port, post(b"1", last=False) + post(b"2", last=False) + post(b"3")
    )

    places = [response.index(b"POST /quote %d" % n) for n in (1, 2, 3)]
    assert places == sorted(places)


async def test_answers_no_more_at_once_than_one_may_ask(port: int) -> None:
    response = await send_request(
        port, b"".join(post(b"1", last=False) for _ in range(PIPELINED_MAX + 5))
    )

    assert response.count(b" 200 OK") == PIPELINED_MAX
    assert response.count(b" 429 ") == 1
    assert response.endswith(b"connection: close\r\n\r\n")


async def test_who_waits_for_answers_asks_as_often_as_they_like(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2 * PIPELINED_MAX):
        writer.write(post(b"1", last=False))
        async with asyncio.timeout(10):
            await reader.readuntil(b"POST /quote 1")
    writer.close()


async def test_has_room_for_so_many_and_again_when_one_leaves(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "CONNECTIONS_MAX", 2)
    open_connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
    for reader, writer in open_connections:
        writer.write(post(b"1", last=False))
        await reader.readuntil(b"POST /quote 1")

    refused = await send_request(port)
    for _, writer in open_connections:
        writer.close()
        await writer.wait_closed()
    async with asyncio.timeout(10):
        while b" 503 " in (response := await send_request(port, post(b"2"))):
            pass

    assert b" 503 " in refused
    assert b" 200 OK" in response


async def test_takes_a_question_in_pieces(port: int) -> None:
    whole = post(b"abc")

    response = await send_request(port, whole[:9], whole[9:40], whole[40:])

    assert response.endswith(b"POST /quote abc")


async def test_keeps_no_body_that_is_longer_than_a_question(port: int) -> None:
    assert b" 413 " in await send_request(port, post(b"x" * (BODY_BYTES_MAX + 1)))


async def test_a_bug_is_a_server_error(port: int) -> None:
    assert b" 500 " in await send_request(port, post(b"bug"))


async def test_ends_what_is_no_http(port: int) -> None:
    assert b" 400 " in await send_request(port, b"what?\r\n\r\n")


async def test_ends_a_head_without_end(port: int) -> None:
    response = await send_request(port, b"GET / HTTP/1.1\r\nx: " + b"y" * HEAD_BYTES_MAX)

    assert b" 431 " in response


async def test_ends_who_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "SILENCE_SECONDS_MAX", 0.05)
    server = AnswerServer(echo, "127.0.0.1", 0)
    port = await server.start()
    reader, _ = await asyncio.open_connection("127.0.0.1", port)

    async with asyncio.timeout(10):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""

    await server.stop()


async def test_a_stop_closes_connections_that_are_kept(port: int) -> None:
    server = AnswerServer(echo, "127.0.0.1", 0)
    own = await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", own)
    writer.write(post(b"1", last=False))
    await reader.readuntil(b"POST /quote 1")

    await server.stop()

    async with asyncio.timeout(10):
        assert await reader.read() == b""
