"""Signing in by an identity provider: the way there, and the way back."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.domain.oidc import OidcRequest, ProviderUnavailable
from swap_dashboard.domain.paths import own_path
from swap_dashboard.domain.refusals import RefusedRequest
from swap_dashboard.http.cookies import Cookies, is_form_token
from swap_dashboard.http.forms import TOKEN_FIELD
from swap_dashboard.http.sign_in import SignInPages
from swap_dashboard.http.visitors import Visitors
from swap_dashboard.usecases.sign_in import SignInRefused
from swap_dashboard.usecases.sign_in_by_provider import SignInByProvider

BEGIN: Final = "/sign-in/provider"
CALLBACK: Final = f"{BEGIN}/callback"
SECRET_BYTES: Final = 32
PARAMETER_MAX: Final = 2048
REFUSED: Final = "The identity provider refused the sign-in. Try again."
ENDED: Final = "This sign-in took too long, or began in another browser. Try again."
UNAVAILABLE: Final = "The identity provider does not answer right now. Try again in a moment."


class OidcPages:
    def __init__(
        self,
        visitors: Visitors,
        cookies: Cookies,
        sign_in_pages: SignInPages,
        *,
        issuer: str,
        sign_in_by_provider: SignInByProvider,
    ) -> None:
        self._visitors = visitors
        self._cookies = cookies
        self._sign_in_pages = sign_in_pages
        self._issuer = issuer
        self._sign_in_by_provider = sign_in_by_provider

    def routes(self) -> Sequence[BaseRoute]:
        return [Route(BEGIN, self.begin), Route(CALLBACK, self.callback)]

    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider. A form could not: its policy allows this site alone.

        An invitation is accepted only from its page, which has the form token.
        """
        invitation = _parameter(request, "invitation")
        is_from_page = is_form_token(self._cookies.form(request), _parameter(request, TOKEN_FIELD))
        if invitation and not is_from_page:
            return RedirectResponse(f"/join?{urlencode({'invitation': invitation})}", 303)
        started = OidcRequest(
            secret=secrets.token_urlsafe(SECRET_BYTES),
            target=own_path(_parameter(request, "next") or "/"),
            invitation=invitation,
        )
        try:
            url = await self._sign_in_by_provider.begin(started)
        except ProviderUnavailable:
            return self._sign_in_pages.refuse(request, UNAVAILABLE, status=503)
        response = RedirectResponse(url, status_code=303)
        self._cookies.write_oidc(response, started)
        return response

    async def callback(self, request: Request) -> Response:
        """Sign in by the code of the address, once: the cookie of the sign-in is removed."""
        response = await self._finish(request, self._cookies.oidc(request))
        self._cookies.remove_oidc(response)
        return response

    async def _finish(self, request: Request, started: OidcRequest | None) -> Response:
        if started is None or not started.has_state(_parameter(request, "state")):
            return self._sign_in_pages.refuse(request, ENDED)
        code = _parameter(request, "code")
        issuer = request.query_params.get("iss", self._issuer)  # RFC 9207, where it is sent
        if not code or issuer != self._issuer:
            return self._sign_in_pages.refuse(request, REFUSED)
        try:
            step = await self._sign_in_by_provider(started, code, self._visitors.browser(request))
        except SignInRefused as refused:
            return self._sign_in_pages.refuse(request, str(refused) or REFUSED)
        except RefusedRequest as error:  # the invitation ended, or is another's
            return self._sign_in_pages.refuse(request, error.message)
        except ProviderUnavailable:
            return self._sign_in_pages.refuse(request, UNAVAILABLE, status=503)
        return await self._sign_in_pages.continue_sign_in(request, step, own_path(started.target))


def _parameter(request: Request, name: str) -> str:
    value = request.query_params.get(name, "")
    return value if len(value) <= PARAMETER_MAX else ""
