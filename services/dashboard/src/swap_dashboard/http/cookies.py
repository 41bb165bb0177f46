"""The two cookies: a session's token, and what forms before a sign-in are bound to."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

SESSION: Final = "swap_session"
FORM: Final = "swap_form"
TOKEN_MAX: Final = 128


class Cookies:
    """Reads and writes both. On https their names bind them to this host and to https."""

    def __init__(self, *, is_https: bool) -> None:
        self._is_https = is_https
        self._prefix = "__Host-" if is_https else ""

    def session(self, request: Request) -> str:
        return self._read(request, SESSION)

    def form(self, request: Request) -> str:
        return self._read(request, FORM)

    def write_session(self, response: Response, token: str) -> None:
        self._write(response, SESSION, token)

    def write_form(self, response: Response, secret: str) -> None:
        self._write(response, FORM, secret)

    def remove_session(self, response: Response) -> None:
        response.delete_cookie(
            self._prefix + SESSION, path="/", secure=self._is_https, httponly=True, samesite="lax"
        )

    def _read(self, request: Request, name: str) -> str:
        value = request.cookies.get(self._prefix + name, "")
        return value if len(value) <= TOKEN_MAX else ""

    def _write(self, response: Response, name: str, value: str) -> None:
        response.set_cookie(
            self._prefix + name,
            value,
            path="/",
            secure=self._is_https,
            httponly=True,
            samesite="lax",  # a link to a page finds its reader signed in
        )


def form_token(secret: str) -> str:
    """Return what forms carry: made from a cookie that another site cannot read."""
    made = hmac.digest(secret.encode(), b"form", sha256)
    return urlsafe_b64encode(made).decode()


def is_form_token(secret: str, text: str) -> bool:
    return bool(secret) and hmac.compare_digest(form_token(secret).encode(), text.encode())
