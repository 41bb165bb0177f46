"""ASGI middleware that counts the answers of the internal port, and measures their time."""

from __future__ import annotations

from collections.abc import Collection
from time import perf_counter
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swap_runtime.http.routing import SILENT, route_of
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, histogram

ANSWERS: Final = counter(
    "internal_answers",
    "Answers of the internal port, by route and class of status",
    ["route", "status"],
)
DURATION: Final = histogram("internal_answer_seconds", "Time to answer by route", ["route"])


class MeasuredRequests:
    """Counts each answer under its route; probes and scrapes are left out."""

    def __init__(self, app: ASGIApp, *, routes: Collection[str]) -> None:
        """
        :param routes: paths as declared. The errors of each are counted from zero.
        """
        self._app = app
        begin_at_zero(ANSWERS, routes, ["5xx"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in SILENT:
            return await self._app(scope, receive, send)
        began = perf_counter()

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = route_of(scope)
                ANSWERS.labels(route, f"{message['status'] // 100}xx").inc()
                DURATION.labels(route).observe(perf_counter() - began, tracing.exemplar())
            await send(message)

        await self._app(scope, receive, send_and_count)
