"""What every answer carries, so that a browser runs nothing but our own files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from time import perf_counter
from typing import Any, Final

from starlette.datastructures import MutableHeaders
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swap_dashboard import observe

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
UNKNOWN: Final = "unknown"
RETRY_AFTER: Final = "10"  # seconds
HTTPS_ONLY: Final = "max-age=31536000; includeSubDomains"


class SecurityHeaders:
    """Adds the headers, and counts the answer."""

    def __init__(
        self, app: ASGIApp, *, is_https: bool, timer: Callable[[], float] = perf_counter
    ) -> None:
        self._app = app
        self._headers: dict[str, Any] = dict(HEADERS)
        if is_https:
            self._headers["strict-transport-security"] = HTTPS_ONLY
        self._timer = timer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began = self._timer()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
                    headers.setdefault("retry-after", RETRY_AFTER)
                has_own_policy = "content-security-policy" in headers  # it says who may frame it
                for name, value in self._headers.items():
                    if not (has_own_policy and name == "x-frame-options"):
                        headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                seconds = self._timer() - began
                observe.page_answered(route_of(scope), message["status"], seconds)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def paths_of(routes: Sequence[BaseRoute]) -> list[str]:
    """Return the declared paths of routes, as `route_of` names them."""
    return [route.path for route in routes if isinstance(route, Route | Mount)]


def route_of(scope: Scope) -> str:
    """Return the declared path of the request's route; one label for all others.

    A request's own path would be a series more for each identifier in it.
    """
    endpoint = scope.get("endpoint")
    for route in scope["app"].routes:
        if endpoint is (route.app if isinstance(route, Mount) else route.endpoint):
            return str(route.path)
    return UNKNOWN
