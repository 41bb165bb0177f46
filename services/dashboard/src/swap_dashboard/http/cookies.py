"""The cookies of the dashboard.

They hold a session, the binding of forms before a sign-in, and the last app. They also hold a
sign-in at an identity provider that has begun, and the result of a form.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from swap_dashboard.domain.oidc import OidcRequest

NAME: Final = "swap"
KINDS: Final = ("session", "form", "app", "oidc", "flash")
APP_SECONDS: Final = 365 * 86400
TOKEN_MAX: Final = 128
SECRET_BYTES: Final = 32
OIDC_SECONDS: Final = 600
OIDC_MAX: Final = 3072
FLASH_MAX: Final = 4096
OIDC_FIELDS: Final = ("secret", "target", "invitation")


class Cookies:
    """Reads and writes them. On https their names bind them to this host and to https."""

    def __init__(self, *, is_https: bool, name: str = NAME) -> None:
        """
        :param name: what theirs begin with. Ports of one host share their cookies.
        """
        self._is_https = is_https
        self._session, self._form, self._app, self._oidc, self._flash = (
            f"{name}_{kind}" for kind in KINDS
        )
        self._prefix = "__Host-" if is_https else ""

    def session(self, request: Request) -> str:
        return self._read(request, self._session)

    def form(self, request: Request) -> str:
        return self._read(request, self._form)

    def app(self, request: Request) -> str:
        """Return the id of the app that was viewed last, from the browser's cookie."""
        return self._read(request, self._app)

    def write_app(self, response: Response, app_id: str) -> None:
        self._write(response, self._app, app_id, max_age=APP_SECONDS)

    def write_session(self, response: Response, token: str) -> None:
        self._write(response, self._session, token)

    def bind_form(self, request: Request, render: Callable[[str], Response]) -> Response:
        """Render a form that carries the token of the form cookie; a browser without one gets it.

        :param render: makes the page with the token.
        """
        secret = self.form(request)
        if secret:
            return render(form_token(secret))
        fresh = secrets.token_urlsafe(SECRET_BYTES)
        response = render(form_token(fresh))
        self._write(response, self._form, fresh)
        return response

    def remove_session(self, response: Response) -> None:
        self._remove(response, self._session)

    def oidc(self, request: Request) -> OidcRequest | None:
        """Return the sign-in at a provider that this browser began."""
        text = self._read(request, self._oidc, length_max=OIDC_MAX)
        fields = dict(parse_qsl(text, keep_blank_values=True))
        if set(fields) != set(OIDC_FIELDS) or not fields["secret"]:
            return None
        return OidcRequest(**fields)

    def write_oidc(self, response: Response, started: OidcRequest) -> None:
        fields = {name: getattr(started, name) for name in OIDC_FIELDS}
        self._write(response, self._oidc, urlencode(fields), max_age=OIDC_SECONDS)

    def remove_oidc(self, response: Response) -> None:
        self._remove(response, self._oidc)

    def flash(self, request: Request) -> str:
        return self._read(request, self._flash, length_max=FLASH_MAX)

    def write_flash(self, response: Response, sealed: str, *, max_age: int) -> None:
        self._write(response, self._flash, sealed, max_age=max_age)

    def remove_flash(self, response: Response) -> None:
        self._remove(response, self._flash)

    def _remove(self, response: Response, name: str) -> None:
        response.delete_cookie(
            self._prefix + name,
            path="/",
            secure=self._is_https,
            httponly=True,
            samesite="lax",
        )

    def _read(self, request: Request, name: str, *, length_max: int = TOKEN_MAX) -> str:
        value = request.cookies.get(self._prefix + name, "")
        return value if len(value) <= length_max else ""

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
