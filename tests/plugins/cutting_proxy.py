"""A TCP proxy that loses one answer of a server and closes its connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import urlsplit, urlunsplit

# The answer of Postgres after a commit.
COMMITTED: Final = b"C\x00\x00\x00\x0bCOMMIT\x00"


class CuttingProxy:
    """Forwards everything until an answer must be lost."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._lost: bytes | None = None
        self._skipped = 0
        self.port = 0
        self.cuts = 0

    def lose(self, answer: bytes = COMMITTED, *, after: int = 0) -> None:
        """Lose the next answer with these bytes, after this number of earlier matches."""
        self._lost, self._skipped = answer, after

    async def handle(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        server, forth = await asyncio.open_connection(*self._target)
        sending = asyncio.create_task(self._forward(client, forth))
        with suppress(ConnectionError):
            await self._answer(server, back)
        sending.cancel()
        for writer in (back, forth):
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    async def _answer(self, server: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        while data := await server.read(65536):
            if self._lost is not None and self._lost in data:
                if self._skipped == 0:
                    self._lost = None
                    self.cuts += 1
                    return
                self._skipped -= 1
            back.write(data)
            await back.drain()


@asynccontextmanager
async def cutting_proxy(url: str) -> AsyncIterator[tuple[CuttingProxy, str]]:
    """Put a proxy before a server; yield it and its URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    proxy = CuttingProxy(parts.hostname, parts.port)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    credentials = parts.netloc.rpartition("@")[0]
    through = parts._replace(netloc=f"{credentials}@127.0.0.1:{proxy.port}")
    try:
        yield proxy, urlunsplit(through)
    finally:
        server.close()
