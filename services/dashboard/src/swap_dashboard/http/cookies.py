"""The cookies: a session's token, what forms before a sign-in are bound to, and the last app."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

NAME: Final = "swap"
KINDS: Final = ("session", "form", "app")
APP_SECONDS: Final = 365 * 86400
TOKEN_MAX: Final = 128


class Cookies:
    """Reads and writes them. On https their names bind them to this host and to https."""

    def __init__(self, *, is_https: bool, name: str = NAME) -> None:
        """
        :param name: what theirs begin with. Ports of one host share their cookies.
        """
        self._is_https = is_https
        self._session, self._form, self._app = (f"{name}_{kind}" for kind in KINDS)
        self._prefix = "__Host-" if is_https else ""

    def session(self, request: Request) -> str:
        return self._read(request, self._session)

    def form(self, request: Request) -> str:
        return self._read(request, self._form)

    def app(self, request: Request) -> str:
        """Return the id of the app that was looked at last, as the browser says."""
        return self._read(request, self._app)

    def write_app(self, response: Response, app_id: str) -> None:
        self._write(response, self._app, app_id, max_age=APP_SECONDS)

    def write_session(self, response: Response, token: str) -> None:
        self._write(response, self._session, token)

    def write_form(self, response: Response, secret: str) -> None:
        self._write(response, self._form, secret)

    def remove_session(self, response: Response) -> None:
        response.delete_cookie(
            self._prefix + self._session,
            path="/",
            secure=self._is_https,
            httponly=True,
            samesite="lax",
        )

    def _read(self, request: Request, name: str) -> str:
        value = request.cookies.get(self._prefix + name, "")
        return value if len(value) <= TOKEN_MAX else ""

    def _write(
        self, response: Response, name: str, value: str, *, max_age: int | None = None
    ) -> None:
        response.set_cookie(
            self._prefix + name,
            value,
            path="/",
            max_age=max_age,
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
