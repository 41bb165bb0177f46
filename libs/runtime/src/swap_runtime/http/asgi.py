"""Serves an ASGI application inside the process's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import uvicorn

from swap_runtime.http.http_limits import LimitedHttpProtocol
from swap_runtime.settings import IDLE_TIMEOUT

STOP_SECONDS: Final = 10


class _Uvicorn(uvicorn.Server):
    """Uvicorn that leaves signals to the process: what stops first is decided there."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class AsgiServer:
    """One application on one port."""

    def __init__(
        self,
        app: Any,
        host: str,
        port: int,
        idle_timeout: timedelta = IDLE_TIMEOUT,
        *,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        """
        :param idle_timeout: how long a connection without a request is kept.
        :param stop_seconds: how long running requests may take to end at a stop.
        """
        self._server = _Uvicorn(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                http=LimitedHttpProtocol,
                ws="none",  # no client uses it, and its reader has no limits
                log_config=None,
                log_level="warning",  # the process logs its ports and its stop itself
                lifespan="off",
                access_log=False,
                server_header=False,
                proxy_headers=False,  # trusted proxies are a setting of the application
                timeout_graceful_shutdown=stop_seconds,  # type: ignore[arg-type]
                timeout_keep_alive=idle_timeout.total_seconds(),  # type: ignore[arg-type]
            )
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Listen, and return the port.

        :raises OSError: when the port is taken.
        """
        self._serving = asyncio.create_task(self._serve())
        while not self._server.started:
            if self._serving.done():
                self._serving.result()
                raise OSError("the server did not start")
            await asyncio.sleep(0.01)
        return int(self._server.servers[0].sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Take no more requests, and let those that run end."""
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving

    async def _serve(self) -> None:
        try:
            await self._server.serve()
        except SystemExit as error:  # uvicorn's way to say that it cannot listen
            raise OSError("cannot listen") from error
