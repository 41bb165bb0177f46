"""The addresses of the console, and what an error looks like."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount

from swap_dashboard import observe
from swap_dashboard.console.domain.memory import MemorySessions
from swap_dashboard.console.http.layout import Layout
from swap_dashboard.console.http.visitors import MayNotOrder, SignInNeeded, Visitors
from swap_dashboard.console.ports import ServiceRefused, ServiceUnavailable, TokenRefused
from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.forms import FormRefused
from swap_dashboard.http.headers import paths_of
from swap_dashboard.http.site import STATIC, Section, Site, VersionedFiles

READ_ONLY_ROLE: Final = "Your role is read-only. Only operators can order."
NO_PAGE: Final = "There is no such page."


class OrderFault(Exception):
    """A form is incomplete; the text names the missing part."""


class ErrorPages:
    def __init__(
        self, layout: Layout, visitors: Visitors, sessions: MemorySessions, cookies: Cookies
    ) -> None:
        self._layout = layout
        self._visitors = visitors
        self._sessions = sessions
        self._cookies = cookies

    async def sign_in(self, request: Request, _: Exception) -> Response:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        target = path if request.method == "GET" else "/"
        return RedirectResponse(f"/sign-in?next={quote(target)}", status_code=303)

    async def token(self, request: Request, error: Exception) -> Response:
        """End the session of a token that the services refuse now."""
        visitor = self._visitors.find(request)
        if visitor is not None:
            self._sessions.end(visitor.session.id, visitor.session.name)
        response = await self.sign_in(request, error)
        self._cookies.remove_session(response)
        return response

    async def answer_refusal(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, ServiceRefused)
        return self._page(error.status, str(error))

    async def unavailable(self, _: Request, error: Exception) -> Response:
        return self._page(503, f"The {error} right now. Try again in a moment.")

    async def form(self, _: Request, error: Exception) -> Response:
        return self._page(403, str(error))

    async def role(self, _: Request, error: Exception) -> Response:
        return self._page(403, READ_ONLY_ROLE)

    async def fault(self, _: Request, error: Exception) -> Response:
        return self._page(422, str(error))

    async def http(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        is_missing = error.detail == HTTPStatus.NOT_FOUND.phrase
        return self._page(error.status_code, NO_PAGE if is_missing else error.detail)

    async def answer_failure(self, request: Request, error: Exception) -> Response:
        observe.answer_failed(request.url.path, error)
        return self._page(500, "Something went wrong on our side. It is logged.")

    def _page(self, status: int, text: str) -> Response:
        values = {"status": status, "text": text}
        return self._layout.plain("error.html", values, title="Not possible", status=status)


def build_site(sections: Sequence[Section], errors: ErrorPages, *, is_https: bool) -> Starlette:
    static = Mount("/static", VersionedFiles(directory=str(STATIC)))
    routes = [*(route for section in sections for route in section.routes()), static]
    observe.routes_listed(paths_of(routes))
    return Site(
        is_https=is_https,
        routes=routes,
        exception_handlers={
            SignInNeeded: errors.sign_in,
            TokenRefused: errors.token,
            ServiceRefused: errors.answer_refusal,
            ServiceUnavailable: errors.unavailable,
            FormRefused: errors.form,
            MayNotOrder: errors.role,
            OrderFault: errors.fault,
            HTTPException: errors.http,
            Exception: errors.answer_failure,
        },
    )
