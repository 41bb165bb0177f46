"""A webhook receiver with configured behaviour, which stores its requests."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Behave = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["svix-id"]


@dataclass
class Sink:
    url: str = ""
    received: list[Received] = field(default_factory=list)
    behaviours: dict[str, Behave] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def at(self, path: str, behave: Behave | None = None) -> str:
        """Return an address of the sink, and set its behaviour there; 204 by default."""
        if behave:
            self.behaviours[path] = behave
        return f"{self.url}{path}"

    def by_path(self) -> dict[str, list[Received]]:
        sorted_out: dict[str, list[Received]] = defaultdict(list)
        for one in self.received:
            sorted_out[one.path].append(one)
        return sorted_out

    async def until(self, number: int, path: str | None = None) -> list[Received]:
        """Wait until a number of requests has arrived."""
        async with asyncio.timeout(20):
            while len(found := [r for r in self.received if path in (None, r.path)]) < number:
                self.changed.clear()
                await self.changed.wait()
        return found

    async def _take(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append(Received(request.path, headers, await request.read()))
        self.changed.set()
        behave = self.behaviours.get(request.path)
        return await behave(request) if behave else web.Response(status=204)


def answering(status: int, **headers: str) -> Behave:
    async def behave(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, headers=named)

    return behave


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Read the request and close the connection without an answer."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def never_answer(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


@asynccontextmanager
async def open_sink() -> AsyncIterator[Sink]:
    sink = Sink()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", sink._take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sink.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield sink
    finally:
        await runner.cleanup()
