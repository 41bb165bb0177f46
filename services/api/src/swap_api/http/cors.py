"""Which web pages may read our answers: said on every answer, or a browser hides its body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from swap_api.http.exchange import Answer, Request

ANY: Final = "*"
METHODS: Final = "GET, POST, OPTIONS"
MAX_AGE_SECONDS: Final = "7200"
EXPOSED: Final = (
    "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id, "
    "Idempotent-Replayed, X-Total-Count, Link, ETag, X-Ignored"
)
# A dashboard sends `authorization`, who follows a swap live `last-event-id`, and some browser
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


class Cors:
    def __init__(self, origins: Sequence[str], key_headers: Sequence[str]) -> None:
        self._origins = frozenset(origins)
        self._allowed = frozenset((*ALLOWED, *(name.lower() for name in key_headers)))

    def headers(self, request: Request) -> dict[str, str]:
        """Return what lets the page that asks read the answer, if it may."""
        if ANY in self._origins:
            return {"access-control-allow-origin": ANY, "access-control-expose-headers": EXPOSED}
        origin = request.header("origin")
        if origin not in self._origins or origin is None:
            return {"vary": "origin"}
        return {
            "access-control-allow-origin": origin,
            "access-control-expose-headers": EXPOSED,
            "vary": "origin",
        }

    def preflight(self, request: Request, *, allowed: str) -> Answer:
        """Answer what a browser asks before the request itself.

        :param allowed: the methods of the address, for who asks for those.
        """
        asked = request.header("access-control-request-headers") or ""
        names = (name.strip().lower() for name in asked.split(","))
        headers = {
            "access-control-allow-methods": METHODS,
            "access-control-max-age": MAX_AGE_SECONDS,
            "allow": allowed,
        }
        sendable = ", ".join(name for name in names if self._allows(name))
        if sendable:
            headers["access-control-allow-headers"] = sendable
        return Answer(b"", 204, headers)

    def _allows(self, name: str) -> bool:
        return name in self._allowed or _CORRELATION.fullmatch(name) is not None
