"""A webhook receiver with configured behaviour, which stores its requests."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["svix-id"]


@dataclass
class Sink:
    url: str = ""
    received: list[ReceivedRequest] = field(default_factory=list)
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def at(self, path: str, behaviour: Behaviour | None = None) -> str:
        """Return an address of the sink, and set its behaviour there; 204 by default."""
        if behaviour:
            self.behaviours[path] = behaviour
        return f"{self.url}{path}"

    def by_path(self) -> dict[str, list[ReceivedRequest]]:
        received_by_path: dict[str, list[ReceivedRequest]] = defaultdict(list)
        for one in self.received:
            received_by_path[one.path].append(one)
        return received_by_path

    async def until(self, number: int, path: str | None = None) -> list[ReceivedRequest]:
        """Wait until a number of requests has arrived."""
        async with asyncio.timeout(20):
            while len(found := [r for r in self.received if path in (None, r.path)]) < number:
                self.changed.clear()
                await self.changed.wait()
        return found

    async def _take(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append(ReceivedRequest(request.path, headers, await request.read()))
        self.changed.set()
        behaviour = self.behaviours.get(request.path)
        return await behaviour(request) if behaviour else web.Response(status=204)


def answering(status: int, **headers: str) -> Behaviour:
    async def behaviour(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, headers=named)

    return behaviour


async def close_connection(request: web.Request) -> web.StreamResponse:
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
