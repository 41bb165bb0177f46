"""The internal port: is it alive, is it ready, how is it doing, and what an operator may do."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from pydantic import SecretStr

from swap_runtime.errors import SwapError
from swap_runtime.metrics import render

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Check = Callable[[], Awaitable[None]]
# What an operator began may end; a request that never does keeps no process from its end.
STOP_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class AdminRoute:
    """One thing an operator may do: `AdminRoute("POST", "/signers/{id}/pause", pause)`."""

    method: str
    path: str  # below /admin
    handler: Handler


class Internal:
    """The aiohttp server every process has."""

    def __init__(
        self,
        *,
        token: SecretStr,
        alive: Callable[[], Mapping[str, str]],
        ready: Callable[[], Awaitable[Mapping[str, str]]],
        notes: Callable[[], Mapping[str, str]],
        admin: Iterable[AdminRoute],
    ) -> None:
        """
        :param alive: what is wrong with the process itself, by name; empty when it is well.
        :param ready: what it lacks in order to work, by name.
        :param notes: what is worth knowing and keeps it from nothing, by name.
        """
        self._token = token.get_secret_value().encode()
        self._alive = alive
        self._ready = ready
        self._notes = notes
        self._app = web.Application(middlewares=[self._operators_only])
        self._app.add_routes(
            [
                web.get("/livez", self._livez),
                web.get("/readyz", self._readyz),
                web.get("/metrics", _metrics),
                *(web.route(r.method, f"/admin{r.path}", r.handler) for r in admin),
            ]
        )
        self._runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=STOP_SECONDS)

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port: a free one was taken where 0 was asked for."""
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _livez(self, _: web.Request) -> web.Response:
        return _answer(self._alive(), self._notes())

    async def _readyz(self, _: web.Request) -> web.Response:
        return _answer(await self._ready(), self._notes())

    @web.middleware
    async def _operators_only(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/admin"):
            given = request.headers.get("Authorization", "").encode()
            if not hmac.compare_digest(given, b"Bearer " + self._token):
                return web.json_response({"error": "operator token required"}, status=401)
        try:
            return await handler(request)
        except SwapError as error:
            return web.json_response({"error": str(error)}, status=409)


async def _metrics(_: web.Request) -> web.Response:
    return web.Response(body=render(), content_type="text/plain", charset="utf-8")


def _answer(problems: Mapping[str, str], notes: Mapping[str, str]) -> web.Response:
    told = {"ok": not problems, "problems": dict(problems), "notes": dict(notes)}
    return web.json_response(told, status=503 if problems else 200)
