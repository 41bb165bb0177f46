"""CORS: which web pages may read answers. Every answer has the headers, refusals too."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_api.http.exchange import exchange_of
from swap_api.http.requests import Request

ANY: Final = "*"
METHODS: Final = "GET, POST, OPTIONS"
MAX_AGE_SECONDS: Final = "7200"
EXPOSED: Final = (
    b"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id, "
    b"Idempotent-Replayed, X-Total-Count, Link, ETag, X-Ignored"
)
ALLOW_ORIGIN: Final = b"access-control-allow-origin"
FOR_ANY: Final = {ALLOW_ORIGIN: ANY.encode(), b"access-control-expose-headers": EXPOSED}
FOR_NONE: Final = {b"vary": b"origin"}
# A dashboard sends `authorization`, a live stream `last-event-id`, and some browser
# clients the last one, as a request header.
ALLOWED: Final = (
    "authorization",
    "content-type",
    "idempotency-key",
    "if-none-match",
    "last-event-id",
    "x-request-id",
    "access-control-allow-origin",
)

_CORRELATION: Final = re.compile(r"x-[a-z0-9-]+-correlation-id")


class CorsRules:
    """The pages and the headers that a deployment allows."""

    def __init__(self, origins: Sequence[str], key_headers: Sequence[str]) -> None:
        self._origins = frozenset(origins)
        self._allowed = frozenset((*ALLOWED, *(name.lower() for name in key_headers)))

    def headers(self, request: Request) -> Mapping[bytes, bytes]:
        """Return what lets the requesting page read the answer, if it may."""
        if ANY in self._origins:
            return FOR_ANY
        origin = request.header("origin")
        if origin not in self._origins or origin is None:
            return FOR_NONE
        return {**FOR_ANY, **FOR_NONE, ALLOW_ORIGIN: origin.encode()}

    def preflight(self, request: Request) -> dict[str, str]:
        """Return the headers of a preflight, with those requested headers that are allowed."""
        requested = request.header("access-control-request-headers") or ""
        names = (name.strip().lower() for name in requested.split(","))
        headers = {
            "access-control-allow-methods": METHODS,
            "access-control-max-age": MAX_AGE_SECONDS,
        }
        sendable = ", ".join(name for name in names if self._allows(name))
        if sendable:
            headers["access-control-allow-headers"] = sendable
        return headers

    def _allows(self, name: str) -> bool:
        return name in self._allowed or _CORRELATION.fullmatch(name) is not None


class Cors:
    """Middleware that lets pages read every answer, and answers preflights.

    Starlette's supports no pattern of header names, and refuses a preflight with one name too many.
    It does not change answers to requests without an origin.
    """

    def __init__(self, app: ASGIApp, *, rules: CorsRules, allowed_at: Callable[[str], str]) -> None:
        """
        :param allowed_at: the methods of a path, for clients that ask for those.
        """
        self._app = app
        self._rules = rules
        self._allowed_at = allowed_at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        request = exchange.request
        exchange.headers.update(self._rules.headers(request))
        if request.method != "OPTIONS":
            return await self._app(scope, receive, send)
        headers = {**self._rules.preflight(request), "allow": self._allowed_at(request.path)}
        return await Response(status_code=204, headers=headers)(scope, receive, send)
