"""TCP proxies that break: connections are cut, refused, stalled or delayed on request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")
HOST = "127.0.0.1"
STEP_SECONDS = 1e-5  # between two pieces with equal delays, to preserve their order


class ProxyLoop:
    """An event loop in its own thread, so that proxies answer while the caller's thread is busy."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it. Only from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


class Link:
    """One proxied address. All methods are called from outside its loop."""

    def __init__(self, name: str, proxies: ProxyLoop, target_port: int) -> None:
        self.name = name
        self.is_refusing = False
        self.is_stalled = False
        self.delay = 0.0
        self.port = 0
        self.target_port = target_port
        self._proxies = proxies
        self._server: asyncio.Server | None = None
        self._ends: set[_End] = set()

    def open(self) -> None:
        self._proxies.run(self._listen())

    def close(self) -> None:
        self._proxies.run(self._stop())

    def cut(self) -> None:
        """Reset every open connection."""
        self._proxies.run(self._reset())

    def refuse(self) -> None:
        """Reset every open and every new connection."""
        self.is_refusing = True
        self.cut()

    def stall(self) -> None:
        """Forward nothing in either direction; connections stay open."""
        self._proxies.run(self._stall(is_stalled=True))

    def heal(self) -> None:
        self.is_refusing, self.delay = False, 0.0
        self._proxies.run(self._stall(is_stalled=False))

    def connect_to(self, port: int) -> None:
        """Connect to another port from now on; open connections are cut."""
        self.target_port = port
        self.cut()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Client(self), HOST, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._reset()

    async def _reset(self) -> None:
        for end in list(self._ends):
            end.transport.abort()

    async def _stall(self, *, is_stalled: bool) -> None:
        self.is_stalled = is_stalled
        for end in list(self._ends):
            end.update_reading()


class _End(asyncio.Protocol):
    """One of the two connections of a pair; received data is sent by the peer."""

    transport: asyncio.Transport

    def __init__(self, link: Link) -> None:
        self.link = link
        self.peer: _End | None = None
        self._is_peer_full = False
        self._last_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.link._ends.add(self)
        self.update_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.link._ends.discard(self)
        if self.peer is not None:
            if exc is None and not self.link.is_refusing:
                self.peer.transport.close()
            else:
                self.peer.transport.abort()

    def data_received(self, data: bytes) -> None:
        assert self.peer is not None
        loop = asyncio.get_running_loop()
        now = loop.time()
        at = max(now + self.link.delay, self._last_at + STEP_SECONDS)
        if self.link.delay == 0.0 and self._last_at <= now:
            self.peer.transport.write(data)
            return
        self._last_at = at
        loop.call_at(at, self.peer.transport.write, data)

    def pause_writing(self) -> None:
        if self.peer is not None:
            self.peer._is_peer_full = True
            self.peer.update_reading()

    def resume_writing(self) -> None:
        if self.peer is not None:
            self.peer._is_peer_full = False
            self.peer.update_reading()

    def update_reading(self) -> None:
        if self.transport.is_closing():
            return
        if self.peer is None or self.link.is_stalled or self._is_peer_full:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()


class _Client(_End):
    """The connection that a service opened."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self.link.is_refusing:
            self.transport.abort()
            return
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, server = await loop.create_connection(
                lambda: _End(self.link), HOST, self.link.target_port
            )
        except OSError:
            self.transport.abort()
            return
        if self.transport.is_closing():
            server.transport.abort()
            return
        self.peer, server.peer = server, self
        self.update_reading()
        server.update_reading()
