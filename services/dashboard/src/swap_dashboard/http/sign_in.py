"""Signing in, by password or by a link, joining by an invitation, and signing out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.domain.accounts import invited_email
from swap_dashboard.domain.paths import own_path
from swap_dashboard.domain.refusals import RefusedRequest
from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.forms import Forms
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.visitors import Visitor, Visitors
from swap_dashboard.ports import ApiRefused, EmailTaken, Invitation
from swap_dashboard.usecases.accept_invitation import AcceptInvitation
from swap_dashboard.usecases.manage_sessions import ManageSessions
from swap_dashboard.usecases.open_session import OpenSession, PasswordReplaced
from swap_dashboard.usecases.sign_in import (
    SignIn,
    SignInBlocked,
    SignInByLink,
    SignInRefused,
    SignInStep,
)
from swap_dashboard.usecases.sign_in_by_code import SignInByCode, SignInEnded

WRONG: Final = "No account has this email with this password."
WRONG_CODE: Final = "The code is wrong, or was used already."
CODE_ENDED: Final = "This took too long. Sign in again."
LINK_ENDED: Final = "This link was used already, or it expired. Ask for another one."


class SignInPages:
    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        forms: Forms,
        cookies: Cookies,
        *,
        sign_in: SignIn,
        sign_in_by_link: SignInByLink,
        sign_in_by_code: SignInByCode,
        accept_invitation: AcceptInvitation,
        open_session: OpenSession,
        manage_sessions: ManageSessions,
        provider_name: str = "",
    ) -> None:
        """
        :param provider_name: of the identity provider; empty where none is configured.
        """
        self._layout = layout
        self._visitors = visitors
        self._forms = forms
        self._cookies = cookies
        self._sign_in = sign_in
        self._sign_in_by_link = sign_in_by_link
        self._sign_in_by_code = sign_in_by_code
        self._accept_invitation = accept_invitation
        self._open_session = open_session
        self._manage_sessions = manage_sessions
        self._provider_name = provider_name

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/sign-in", self.show),
            Route("/sign-in", self.submit, methods=["POST"]),
            Route("/sign-in/code", self.submit_code, methods=["POST"]),
            Route("/sign-in/link", self.show_link),
            Route("/sign-in/link", self.submit_link, methods=["POST"]),
            Route("/join", self.show_join),
            Route("/join", self.submit_join, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        target = own_path(request.query_params.get("next", "/"))
        if await self._visitors.find(request) is not None:
            return RedirectResponse(target, status_code=303)
        return self._form(request, "sign_in.html", {"next": target}, title="Sign in")

    async def submit(self, request: Request) -> Response:
        fields = await self._forms.read(request, self._cookies.form(request))
        email, target = fields.get("email", ""), own_path(fields.get("next", "/"))
        browser = self._visitors.browser(request)
        try:
            step = await self._sign_in(email, fields.get("password", ""), browser)
        except SignInRefused:
            problem, status = WRONG, 401
        except SignInBlocked as blocked:
            problem, status = str(blocked), 429
        else:
            return await self.continue_sign_in(request, step, target)
        values = {"next": target, "email": email, "problem": problem}
        return self._form(request, "sign_in.html", values, title="Sign in", status=status)

    async def show_link(self, request: Request) -> Response:
        """Show who is signed in by it: only the button takes it, for some programs open links."""
        link = request.query_params.get("token", "")
        email = await self._sign_in_by_link.email_of(link)
        if email is None:
            return self._link_ended()
        return self._form(request, "link.html", {"email": email, "link": link}, title="Sign in")

    async def submit_link(self, request: Request) -> Response:
        fields = await self._forms.read(request, self._cookies.form(request))
        browser = self._visitors.browser(request)
        try:
            step = await self._sign_in_by_link(fields.get("token", ""), browser)
        except SignInRefused:
            return self._link_ended()
        return await self.continue_sign_in(request, step, "/")

    async def submit_code(self, request: Request) -> Response:
        fields = await self._forms.read(request, self._cookies.form(request))
        pending, target = fields.get("pending", ""), own_path(fields.get("next", "/"))
        browser = self._visitors.browser(request)
        try:
            token = await self._sign_in_by_code(pending, fields.get("code", ""), browser)
        except SignInEnded:
            values: Mapping[str, object] = {"next": target, "problem": CODE_ENDED}
            return self._form(request, "sign_in.html", values, title="Sign in", status=401)
        except SignInRefused as refused:
            problem, status = str(refused) or WRONG_CODE, 401
        except SignInBlocked as blocked:
            problem, status = str(blocked), 429
        else:
            return await self._begin_session(request, token, target)
        return self._code_form(request, pending, target, problem=problem, status=status)

    async def show_join(self, request: Request) -> Response:
        invitation = request.query_params.get("invitation", "")
        visitor = await self._visitors.find(request)
        values, status = {"invitation": invitation}, 200
        invited = None
        if invitation:
            try:
                invited = await self._inspect(request, invitation)
            except ApiRefused as error:
                values, status = {**values, "problem": error.message}, 422
        return self._join_form(request, visitor, values, invited, status=status)

    async def submit_join(self, request: Request) -> Response:
        visitor = await self._visitors.find(request)
        secret = visitor.token if visitor else self._cookies.form(request)
        fields = await self._forms.read(request, secret)
        invitation = fields.get("invitation", "")
        invited = None
        try:
            invited = await self._inspect(request, invitation)
            if visitor is not None:
                session = visitor.session
                joined = await self._accept_invitation.for_account(
                    invitation,
                    session.account_id,
                    session.email,
                    address=self._visitors.address(request),
                    invited=invited,
                )
                await self._manage_sessions.use_membership(session, joined)
                return RedirectResponse("/", status_code=303)
            return await self._join(request, fields, invited)
        except PasswordReplaced:  # the email's owner came by the provider or a link
            return RedirectResponse("/sign-in", status_code=303)
        except EmailTaken:
            problem = "There is an account of this email. Sign in, and open the invitation again."
        except RefusedRequest as error:
            problem = error.message
        email = fields.get("email", "")
        values = {"invitation": invitation, "email": email, "problem": problem}
        return self._join_form(request, visitor, values, invited, status=422)

    async def sign_out(self, request: Request) -> Response:
        visitor = await self._visitors.require(request)
        await self._forms.read(request, visitor.token)
        await self._manage_sessions.end(visitor.session)
        response = RedirectResponse("/sign-in", status_code=303)
        self._cookies.remove_session(response)
        return response

    async def _inspect(self, request: Request, invitation: str) -> Invitation:
        """Read an invitation, once for each answer: the api limits the rate of the address."""
        return await self._accept_invitation.inspect(
            invitation, address=self._visitors.address(request)
        )

    async def _join(
        self, request: Request, fields: Mapping[str, str], invited: Invitation
    ) -> Response:
        browser = self._visitors.browser(request)
        account = await self._accept_invitation.with_new_account(
            fields.get("invitation", ""),
            fields.get("email", ""),
            fields.get("password", ""),
            address=browser.address,
            invited=invited,
        )
        token = await self._open_session(account, browser, by="invitation")
        return await self._begin_session(request, token, "/")

    def _join_form(
        self,
        request: Request,
        visitor: Visitor | None,
        values: Mapping[str, str],
        invited: Invitation | None,
        *,
        status: int,
    ) -> Response:
        """Render the form; a signed-in visitor joins with the account of the session."""
        shown: dict[str, object] = {
            **values,
            "invited": invited,
            "bound_to": invited and invited_email(invited.name),
            "joins_as": visitor and visitor.session.email,
        }
        if visitor is not None:
            shown["form_token"] = visitor.form_token
        return self._form(request, "join.html", shown, title="Accept an invitation", status=status)

    def _link_ended(self) -> Response:
        values = {"status": 410, "text": LINK_ENDED, "request_id": None}
        return self._layout.plain("error.html", values, title="Link ended", status=410)

    def refuse(self, request: Request, problem: str, *, status: int = 401) -> Response:
        """Show the form with the reason why a sign-in failed."""
        values = {"next": "/", "problem": problem}
        return self._form(request, "sign_in.html", values, title="Sign in", status=status)

    async def continue_sign_in(self, request: Request, step: SignInStep, target: str) -> Response:
        """Begin the session of a sign-in, or ask for the code that it waits for."""
        if step.pending:
            return self._code_form(request, step.pending, target, problem=step.notice)
        return await self._begin_session(request, step.session, target)

    def _code_form(
        self,
        request: Request,
        pending: str,
        target: str,
        *,
        problem: str | None = None,
        status: int = 200,
    ) -> Response:
        values = {"pending": pending, "next": target, "problem": problem}
        return self._form(request, "code.html", values, title="Enter a code", status=status)

    async def _begin_session(self, request: Request, token: str, target: str) -> Response:
        """Send the browser on with a new session; the one it came with ends."""
        visitor = await self._visitors.find(request)
        if visitor is not None:
            await self._manage_sessions.end(visitor.session)
        response = RedirectResponse(target, status_code=303)
        self._cookies.write_session(response, token)
        return response

    def _form(
        self,
        request: Request,
        page: str,
        values: Mapping[str, object],
        *,
        title: str,
        status: int = 200,
    ) -> Response:
        empty = {"problem": None, "email": "", "provider_name": self._provider_name}
        return self._cookies.bind_form(
            request,
            lambda form_token: self._layout.plain(
                page, {**empty, **values}, title=title, status=status, form_token=form_token
            ),
        )
