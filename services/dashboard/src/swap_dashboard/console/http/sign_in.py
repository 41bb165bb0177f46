"""Signing in by an operator's token, the sessions, and signing out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console import observe
from swap_dashboard.console.domain.memory import MemorySessions
from swap_dashboard.console.http.layout import Layout
from swap_dashboard.console.http.view import View
from swap_dashboard.console.http.visitors import Visitors
from swap_dashboard.console.ports import ServiceUnavailable
from swap_dashboard.console.usecases.sign_in import SignIn, SignInBlocked, SignInRefused
from swap_dashboard.domain.paths import own_path
from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.forms import Forms
from swap_dashboard.ports import Clock

WRONG: Final = "No operator or viewer has this token, or it expired."
UNAVAILABLE: Final = "No service answers right now. Try again in a moment."


class SignInPages:
    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        forms: Forms,
        cookies: Cookies,
        *,
        sign_in: SignIn,
        sessions: MemorySessions,
        clock: Clock,
    ) -> None:
        self._layout = layout
        self._visitors = visitors
        self._forms = forms
        self._cookies = cookies
        self._sign_in = sign_in
        self._sessions = sessions
        self._clock = clock

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/sign-in", self.show),
            Route("/sign-in", self.submit, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
            Route("/sessions", self.list_sessions),
            Route("/sessions/end-all", self.end_all, methods=["POST"]),
            Route("/sessions/{id}/end", self.end_one, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        target = own_path(request.query_params.get("next", "/"))
        if self._visitors.find(request) is not None:
            return RedirectResponse(target, status_code=303)
        return self._form(request, {"next": target})

    async def submit(self, request: Request) -> Response:
        fields = await self._forms.read(request, self._cookies.form(request))
        target = own_path(fields.get("next", "/"))
        browser = request.headers.get("user-agent", "")
        address = self._visitors.address(request)
        try:
            secret = await self._sign_in(fields.get("token", ""), browser=browser, address=address)
        except SignInRefused:
            return self._form(request, {"next": target, "problem": WRONG}, status=401)
        except SignInBlocked as blocked:
            return self._form(request, {"next": target, "problem": str(blocked)}, status=429)
        except ServiceUnavailable:
            return self._form(request, {"next": target, "problem": UNAVAILABLE}, status=503)
        return self._begin_session(request, secret, target)

    async def sign_out(self, request: Request) -> Response:
        visitor, _ = await self._visitors.read_form(request)
        self._sessions.end(visitor.session.id, visitor.session.name)
        return self._leave()

    async def list_sessions(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        listed = self._sessions.list_of(visitor.session.name, self._clock())
        view = View(title="Your sessions")
        return self._layout.page(
            view, visitor, section="sessions", name="sessions.html", sessions=listed
        )

    async def end_one(self, request: Request) -> Response:
        visitor, _ = await self._visitors.read_form(request)
        self._sessions.end(to_id(request.path_params["id"]), visitor.session.name)
        return RedirectResponse("/sessions", status_code=303)

    async def end_all(self, request: Request) -> Response:
        visitor, _ = await self._visitors.read_form(request)
        name = visitor.session.name
        observe.sessions_ended(name, self._sessions.end_all(name))
        return self._leave()

    def _leave(self) -> Response:
        response = RedirectResponse("/sign-in", status_code=303)
        self._cookies.remove_session(response)
        return response

    def _begin_session(self, request: Request, secret: str, target: str) -> Response:
        """Send the browser on with a new session; the one it came with ends."""
        visitor = self._visitors.find(request)
        if visitor is not None:
            self._sessions.end(visitor.session.id, visitor.session.name)
        response = RedirectResponse(target, status_code=303)
        self._cookies.write_session(response, secret)
        return response

    def _form(self, request: Request, values: Mapping[str, Any], *, status: int = 200) -> Response:
        shown = {"problem": None, **values}
        return self._cookies.bind_form(
            request,
            lambda form_token: self._layout.plain(
                "sign_in.html", shown, title="Operators", status=status, form_token=form_token
            ),
        )


def to_id(text: str, *, otherwise: str = "There is nothing at this address.") -> UUID:
    """
    :param otherwise: the text of the error.
    :raises HTTPException: when it is no id.
    """
    try:
        return UUID(text)
    except ValueError:
        raise HTTPException(404, otherwise) from None
