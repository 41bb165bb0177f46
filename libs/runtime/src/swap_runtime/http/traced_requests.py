"""ASGI middleware that records a span per request. It is installed only where spans are sent."""

from __future__ import annotations

import re
import secrets
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swap_runtime.http.routing import SILENT, route_of
from swap_runtime.telemetry import tracing

TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


class TracedRequests:
    """Begins a trace for each request, or goes on with the caller's."""

    def __init__(self, app: ASGIApp, *, trusts_callers: bool) -> None:
        """
        :param trusts_callers: whether callers are the service's own processes: then a request is a
            child of the caller's span. Other callers' traces are linked.
        """
        self._app = app
        self._trusts_callers = trusts_callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in SILENT:
            return await self._app(scope, receive, send)
        attributes: dict[str, str | int] = {"http.request.method": scope["method"]}

        async def send_and_look(message: Message) -> None:
            if message["type"] == "http.response.start":
                attributes["http.response.status_code"] = message["status"]
            await send(message)

        def name() -> str:
            attributes["http.route"] = route = route_of(scope)
            return f"{scope['method']} {route}".rstrip()

        with tracing.serving(self._position(scope), name, attributes):
            await self._app(scope, receive, send_and_look)

    def _position(self, scope: Scope) -> tracing.Position:
        new = tracing.Position(secrets.randbits(128) or 1, tracing.new_span_id())
        known = TRACEPARENT.fullmatch(Headers(scope=scope).get("traceparent", ""))
        if known is None:
            return new
        trace_id, span_id = int(known[1], 16), int(known[2], 16)
        if not trace_id or not span_id:
            return new
        if self._trusts_callers:
            return tracing.Position(trace_id, new.span_id, span_id)
        new.links.append((trace_id, span_id))
        return new
