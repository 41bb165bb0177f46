"""Serves an ASGI application inside the process's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swap_runtime.http.http_limits import LimitedHttpProtocol
from swap_runtime.settings import IDLE_TIMEOUT

STOP_SECONDS: Final = 10


class _Uvicorn(uvicorn.Server):
    """Uvicorn that leaves signals to the process: what stops first is decided there."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _DrainingApp:
    """Adds `Connection: close` to each answer while the server drains.

    The next request goes to another process then. Without it, a client may write in the moment in
    which its connection is closed. It is unclear then whether the request was processed.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.is_draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_close(message: Message) -> None:
            if self.is_draining and message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (b"connection", b"close")]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_with_close)


class AsgiServer:
    """One application on one port."""

    def __init__(
        self,
        app: ASGIApp,
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
        self._app = _DrainingApp(app)
        self._server = _Uvicorn(
            uvicorn.Config(
                self._app,
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

    def drain(self) -> None:
        """Go on serving, and close each connection with its next answer."""
        self._app.is_draining = True

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
