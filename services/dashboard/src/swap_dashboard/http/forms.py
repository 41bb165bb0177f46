"""Forms: read within bounds, and only from our own pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from swap_dashboard import observe
from swap_dashboard.http.cookies import is_form_token
from swap_runtime.http.request_body import body_of

BODY_MAX: Final = 64 * 1024
FIELDS_MAX: Final = 100
TOKEN_FIELD: Final = "form_token"
FORM: Final = "application/x-www-form-urlencoded"
OWN_SITE: Final = ("same-origin", "none")


class FormRefused(Exception):
    """It is not from a page of the dashboard, or too large; the text names the next step."""


class Forms:
    def __init__(self, *, public_url: str) -> None:
        self._public_url = public_url

    async def read(self, request: Request, secret: str) -> Mapping[str, str]:
        """Return the fields of a form that was made for this browser.

        :param secret: of the cookie that its forms are bound to.
        :raises FormRefused: when it was not, when another site sent it, or when it is too large.
        """
        self._require_own_site(request)
        fields = await _fields(request)
        if not is_form_token(secret, fields.pop(TOKEN_FIELD, "")):
            observe.form_refused(request.url.path)
            raise FormRefused("This page was open for too long. Load it again, and repeat.")
        return fields

    def _require_own_site(self, request: Request) -> None:
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site")
        is_foreign = origin not in (None, self._public_url)
        if is_foreign or (site is not None and site not in OWN_SITE):
            observe.form_refused(request.url.path)
            raise FormRefused("This form was sent from another site.")


async def _fields(request: Request) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM:
        raise FormRefused("This is not a form.")
    try:
        body = await body_of(request, bytes_max=BODY_MAX)
    except HTTPException:
        raise FormRefused("This form is too large.") from None
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"
        )
    except ValueError:
        raise FormRefused("This is not a form.") from None
    return {name: value.strip() for name, value in pairs}
