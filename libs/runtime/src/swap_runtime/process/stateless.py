"""A process without a database and without messages: ports, health, metrics and signals."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

import structlog
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from swap_runtime.http.asgi import AsgiServer
from swap_runtime.http.internal import answer_metrics
from swap_runtime.process.files import raise_file_limit
from swap_runtime.settings import IDLE_TIMEOUT
from swap_runtime.telemetry.logging import configure_logging

Close = Callable[[], Awaitable[None]]
INTERNAL_STOP_SECONDS: Final = 5
log = structlog.get_logger()


class Stateless:
    """What such a process is made of."""

    def __init__(self, name: str, *, host: str, internal_port: int, log_level: str) -> None:
        self.name = name
        self.log_level = log_level
        self._host = host
        self._internal_port = internal_port
        self._servers: list[AsgiServer] = []
        self._closers: list[Close] = []
        self._stop_requested = asyncio.Event()
        self._is_ready = False

    def serve(self, app: Any, *, port: int, idle_timeout: timedelta = IDLE_TIMEOUT) -> None:
        """Serve an ASGI application, and let its requests end at a stop."""
        self._servers.append(AsgiServer(app, self._host, port, idle_timeout))

    def on_stop(self, close: Close) -> None:
        """Close a client at the end, the last one opened first."""
        self._closers.append(close)

    def stop(self) -> None:
        """Ask for the end, as SIGTERM does."""
        self._stop_requested.set()

    async def run(self) -> int:
        """Run until a stop signal.

        :raises OSError: when a port is taken.
        """
        routes = [
            Route("/livez", self._livez),
            Route("/readyz", self._readyz),
            Route("/metrics", answer_metrics),
        ]
        internal = AsgiServer(
            Starlette(routes=routes),
            self._host,
            self._internal_port,
            stop_seconds=INTERNAL_STOP_SECONDS,
        )
        await internal.start()
        for server in self._servers:
            log.info("serving", port=await server.start())
        self._is_ready = True
        await self._stop_requested.wait()
        for server in self._servers:
            await server.stop()
        for close in reversed(self._closers):
            await close()
        await internal.stop()
        log.info("stopped", code=0)
        return 0

    async def _livez(self, _: Request) -> Response:
        return _health({})

    async def _readyz(self, _: Request) -> Response:
        if self._stop_requested.is_set() or not self._is_ready:
            state = "stopping" if self._stop_requested.is_set() else "starting"
            return _health({"process": state})
        return _health({})


def run_stateless(
    create: Callable[[], Stateless], build: Callable[[Stateless], Awaitable[None]]
) -> None:
    """Run one process until SIGTERM or SIGINT.

    :raises SystemExit: with the process's code.
    """

    async def main() -> int:
        process = create()
        configure_logging(process.name, level=process.log_level)
        raise_file_limit()
        await build(process)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, process.stop)
        return await process.run()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(main()))


def _health(problems: dict[str, str]) -> Response:
    content = {"ok": not problems, "problems": problems, "notes": {}}
    return JSONResponse(content, status_code=503 if problems else 200)
