"""The account of who is signed in: password, sessions, organizations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.domain.accounts import AccountRefused
from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.forms import Forms
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.visitors import OrganizationNeeded, Visitor, Visitors, to_uuid
from swap_dashboard.ports import ApiRefused
from swap_dashboard.usecases.change_password import ChangePassword
from swap_dashboard.usecases.manage_sessions import ManageSessions
from swap_dashboard.usecases.open_session import FindSession
from swap_dashboard.usecases.replace_lost_password import ReplaceLostPassword
from swap_dashboard.usecases.set_first_password import SetFirstPassword
from swap_dashboard.usecases.sign_in import SignInBlocked, SignInRefused


class AccountPages:
    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        forms: Forms,
        cookies: Cookies,
        *,
        manage_sessions: ManageSessions,
        find_session: FindSession,
        change_password: ChangePassword,
        set_first_password: SetFirstPassword,
        replace_lost_password: ReplaceLostPassword,
        provider_name: str,
    ) -> None:
        """
        :param provider_name: what the provider is called; empty where there is none.
        """
        self._layout = layout
        self._visitors = visitors
        self._forms = forms
        self._cookies = cookies
        self._manage_sessions = manage_sessions
        self._find_session = find_session
        self._change_password = change_password
        self._set_first_password = set_first_password
        self._replace_lost_password = replace_lost_password
        self._provider_name = provider_name

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/account", self.show),
            Route("/account/password", self.set_password, methods=["POST"]),
            Route("/account/first-password", self.set_first_password, methods=["POST"]),
            Route("/account/lost-password", self.replace_lost_password, methods=["POST"]),
            Route("/account/sessions/{session_id}/end", self.end_session, methods=["POST"]),
            Route("/account/sign-out-everywhere", self.end_all, methods=["POST"]),
            Route("/account/organization", self.use_membership, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        return await self._page(await self._visitors.require(request))

    async def set_password(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        try:
            await self._change_password(
                visitor.session, fields.get("known", ""), fields.get("wanted", "")
            )
        except SignInRefused:
            return await self._page(visitor, problem="The current password is wrong.")
        except (SignInBlocked, AccountRefused) as error:
            return await self._page(visitor, problem=str(error))
        return await self._page(visitor, done="The password is changed. Other sessions ended.")

    async def set_first_password(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        try:
            await self._set_first_password(visitor.session, fields.get("wanted", ""))
        except AccountRefused as error:
            return await self._page(visitor, problem=error.message)
        return await self._page(visitor, done="The password is set. Other sessions ended.")

    async def replace_lost_password(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        try:
            await self._replace_lost_password(visitor.session, fields.get("wanted", ""))
        except AccountRefused as error:
            return await self._page(visitor, problem=error.message)
        used = replace(visitor, session=replace(visitor.session, is_by_link=False))
        return await self._page(used, done="The new password is set. Other sessions ended.")

    async def end_session(self, request: Request) -> Response:
        visitor, _ = await self._form(request)
        session_id = to_uuid(request.path_params["session_id"])
        for session in await self._find_session.list_open(visitor.session.account_id):
            if str(session.id) == session_id:
                await self._manage_sessions.end(session)
        return RedirectResponse("/account", status_code=303)

    async def end_all(self, request: Request) -> Response:
        visitor, _ = await self._form(request)
        await self._manage_sessions.end_all(visitor.session.account_id)
        response = RedirectResponse("/sign-in", status_code=303)
        self._cookies.remove_session(response)
        return response

    async def use_membership(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        wanted = to_uuid(fields.get("membership", ""))
        for membership in visitor.memberships:
            if str(membership.id) == wanted:
                await self._manage_sessions.use_membership(visitor.session, membership.id)
                return RedirectResponse("/", status_code=303)
        raise ApiRefused(404, "NOT_FOUND", "There is no such organization")

    async def _form(self, request: Request) -> tuple[Visitor, dict[str, str]]:
        visitor = await self._visitors.require(request)
        return visitor, dict(await self._forms.read(request, visitor.token))

    async def _page(
        self, visitor: Visitor, *, problem: str | None = None, done: str | None = None
    ) -> Response:
        values: dict[str, Any] = {
            "sessions": await self._find_session.list_open(visitor.session.account_id),
            "problem": problem,
            "done": done,
            "needs_password": await self._set_first_password.is_needed(visitor.session),
            "may_set_password": self._set_first_password.is_offered(visitor.session),
            "may_replace_password": self._replace_lost_password.is_offered(visitor.session),
            "provider_name": self._provider_name,
        }
        try:
            member = await self._visitors.member_of(visitor)
        except OrganizationNeeded:
            values |= {"has_no_organization": True}
            return self._layout.of_visitor("account.html", values, visitor=visitor, title="Account")
        values |= {"has_no_organization": False}
        return self._layout.of_member(
            "account.html", values, member=member, title="Account", section="account"
        )
