"""The internal port: is it alive, is it ready, how is it doing, and what an operator may do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from aiohttp import web

from swap_runtime.errors import SwapError
from swap_runtime.operators.admin_routes import OPERATOR_KEY, AdminRoute, Handler, OrderRoute
from swap_runtime.operators.identities import Operators
from swap_runtime.operators.order_desk import OrderDesk
from swap_runtime.telemetry.metrics import render

Check = Callable[[], Awaitable[None]]
# What an operator began may end; a request that never does keeps no process from its end.
STOP_SECONDS: Final = 5


class Internal:
    """The aiohttp server every process has."""

    def __init__(
        self,
        *,
        operators: Operators,
        desk: OrderDesk,
        alive: Callable[[], Mapping[str, str]],
        ready: Callable[[], Awaitable[Mapping[str, str]]],
        notes: Callable[[], Mapping[str, str]],
        admin: Iterable[AdminRoute],
        orders: Sequence[OrderRoute] = (),
    ) -> None:
        """
        :param operators: whose tokens open /admin.
        :param desk: where their orders are logged, and stored until a second operator approves.
        :param alive: what is wrong with the process itself, by name; empty when it is well.
        :param ready: what it lacks in order to work, by name.
        :param notes: what is worth knowing and keeps it from nothing, by name.
        """
        self._operators = operators
        self._alive = alive
        self._ready = ready
        self._notes = notes
        self._app = web.Application(middlewares=[self._operators_only])
        self._app.add_routes(
            [
                web.get("/livez", self._livez),
                web.get("/readyz", self._readyz),
                web.get("/metrics", _metrics),
                *(
                    web.route(route.method, f"/admin{route.path}", desk.guarded(route))
                    for route in (*admin, *desk.routes(orders))
                ),
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
            operator = self._operators.identify(request.headers.get("Authorization", ""))
            if operator is None:
                return web.json_response({"error": "operator token required"}, status=401)
            request[OPERATOR_KEY] = operator
        try:
            return await handler(request)
        except SwapError as error:
            return web.json_response({"error": str(error)}, status=409)


async def _metrics(_: web.Request) -> web.Response:
    return web.Response(body=render(), content_type="text/plain", charset="utf-8")


def _answer(problems: Mapping[str, str], notes: Mapping[str, str]) -> web.Response:
    content = {"ok": not problems, "problems": dict(problems), "notes": dict(notes)}
    return web.json_response(content, status=503 if problems else 200)
