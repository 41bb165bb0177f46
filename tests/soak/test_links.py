"""A link over real sockets: what it forwards, and what it does not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.soak.links import HOST, Link, ProxyLoop

SHORT = 0.2


@pytest.fixture
def proxies() -> Iterator[ProxyLoop]:
    loop = ProxyLoop()
    yield loop
    loop.stop()


async def _repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
        await writer.drain()
    writer.close()


@pytest.fixture
async def link(proxies: ProxyLoop) -> AsyncIterator[Link]:
    server = await asyncio.start_server(_repeat, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    one = Link("repeat", proxies, port)
    await asyncio.to_thread(one.open)
    yield one
    await asyncio.to_thread(one.close)
    server.close()


async def _exchange(link: Link, text: bytes = b"hello") -> bytes:
    reader, writer = await asyncio.open_connection(HOST, link.port)
    try:
        writer.write(text)
        return await reader.readexactly(len(text))
    finally:
        writer.close()


class TestALink:
    async def test_passes_everything_on_in_its_order(self, link: Link) -> None:
        text = bytes(range(256)) * 4096

        assert await _exchange(link, text) == text

    async def test_that_refuses_resets_each_connection_until_it_is_healed(self, link: Link) -> None:
        await asyncio.to_thread(link.refuse)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await _exchange(link)

        await asyncio.to_thread(link.heal)
        assert await _exchange(link) == b"hello"

    async def test_that_is_cut_loses_what_is_open_and_takes_new_ones(self, link: Link) -> None:
        reader, writer = await asyncio.open_connection(HOST, link.port)
        writer.write(b"hello")
        await reader.readexactly(5)

        await asyncio.to_thread(link.cut)

        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        assert await _exchange(link) == b"hello"

    async def test_that_is_stalled_loses_no_bytes(self, link: Link) -> None:
        reader, writer = await asyncio.open_connection(HOST, link.port)
        await asyncio.to_thread(link.stall)
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(5), SHORT)

        await asyncio.to_thread(link.heal)

        assert await reader.readexactly(5) == b"hello"
        writer.close()

    async def test_that_delays_keeps_the_order_also_when_it_stops(self, link: Link) -> None:
        reader, writer = await asyncio.open_connection(HOST, link.port)
        link.delay = SHORT
        writer.write(b"1")
        await asyncio.sleep(SHORT / 4)
        link.delay = 0.0
        writer.write(b"2")

        assert await reader.readexactly(2) == b"12"
        writer.close()

    async def test_resets_where_no_server_listens(self, proxies: ProxyLoop) -> None:
        with socket.socket() as listener:
            listener.bind((HOST, 0))
            port = listener.getsockname()[1]
        one = Link("nothing", proxies, port)
        await asyncio.to_thread(one.open)

        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await _exchange(one)
        await asyncio.to_thread(one.close)
