"""The internal port: is it alive, is it ready, how is it doing, and what an operator may do."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_runtime.errors import SwapError
from swap_runtime.http.asgi import AsgiServer
from swap_runtime.http.measured_requests import MeasuredRequests
from swap_runtime.http.traced_requests import TracedRequests
from swap_runtime.operators.admin_routes import AdminRoute, OrderRoute
from swap_runtime.operators.identities import Operators
from swap_runtime.operators.order_desk import OrderDesk
from swap_runtime.telemetry.metrics import render
from swap_runtime.telemetry.tracing import is_on

Check = Callable[[], Awaitable[None]]
ADMIN: Final = "/admin"
BODY_BYTES_MAX: Final = 1024 * 1024
# A request that never ends must not keep the process from its end.
STOP_SECONDS: Final = 5


class Internal:
    """The Starlette application that every process serves to the deployment itself."""

    def __init__(
        self,
        *,
        operators: Operators,
        desk: OrderDesk,
        alive: Callable[[], Mapping[str, str]],
        ready: Callable[[], Awaitable[Mapping[str, str]]],
        notes: Callable[[], Mapping[str, str]],
        note_checks: Callable[[], Awaitable[Mapping[str, str]]],
        admin: Iterable[AdminRoute],
        orders: Sequence[OrderRoute] = (),
    ) -> None:
        """
        :param operators: with tokens that open /admin.
        :param desk: where their orders are logged, and stored until a second operator approves.
        :param alive: what is wrong with the process itself, by name; empty when it is well.
        :param ready: what it lacks in order to work, by name.
        :param notes: what is worth knowing and keeps it from nothing, by name.
        :param note_checks: notes that need I/O; `/readyz` alone has them.
        """
        self._alive = alive
        self._ready = ready
        self._notes = notes
        self._note_checks = note_checks
        for_operators = [
            Route(f"{ADMIN}{route.path}", desk.guard(route), methods=[route.method])
            for route in (*admin, *desk.routes(orders))
        ]
        app = Starlette(
            routes=[
                Route("/livez", self._livez),
                Route("/readyz", self._readyz),
                Route("/metrics", answer_metrics),
                *for_operators,
            ],
            middleware=[Middleware(OperatorsOnly, operators=operators)],
            exception_handlers={SwapError: _answer_refusal},
            max_body_size=BODY_BYTES_MAX,
        )
        app.router.redirect_slashes = False
        # Around the application: Starlette answers an unhandled error outside of its middleware.
        self._app = MeasuredRequests(app, routes={route.path for route in for_operators})
        self._server: AsgiServer | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port: a free one where 0 was given.

        :raises OSError: when the port is taken.
        """
        app = TracedRequests(self._app, trusts_callers=True) if is_on() else self._app
        self._server = AsgiServer(app, host, port, stop_seconds=STOP_SECONDS)
        return await self._server.start()

    def drain(self) -> None:
        """Go on serving, and close each connection with its next answer."""
        if self._server is not None:
            self._server.drain()

    async def stop(self) -> None:
        """Take no more requests, and let those that run end."""
        if self._server is not None:
            await self._server.stop()

    async def _livez(self, _: Request) -> Response:
        return _health(self._alive(), self._notes())

    async def _readyz(self, _: Request) -> Response:
        problems, note_checks = await gather(self._ready(), self._note_checks())
        return _health(problems, {**self._notes(), **note_checks})


class OperatorsOnly:
    """Middleware that opens `/admin` to operators, and gives the routes who it is."""

    def __init__(self, app: ASGIApp, *, operators: Operators) -> None:
        self._app = app
        self._operators = operators

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(ADMIN):
            authorization = Headers(scope=scope).get("authorization", "")
            operator = self._operators.identify(authorization)
            if operator is None:
                refusal = JSONResponse({"error": "operator token required"}, status_code=401)
                return await refusal(scope, receive, send)
            scope.setdefault("state", {})["operator"] = operator
        return await self._app(scope, receive, send)


async def _answer_refusal(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=409)


async def answer_metrics(request: Request) -> Response:
    """Answer a scrape in the form that it accepts."""
    content, media_type = render(request.headers.get("accept", ""))
    return Response(content, media_type=media_type)


def _health(problems: Mapping[str, str], notes: Mapping[str, str]) -> Response:
    content = {"ok": not problems, "problems": dict(problems), "notes": dict(notes)}
    return JSONResponse(content, status_code=503 if problems else 200)
