"""The caller: a browser with a session, and its member's rights."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from starlette.requests import Request

from swap_dashboard.domain.accounts import Membership, Session
from swap_dashboard.http.client_addresses import ClientAddresses
from swap_dashboard.http.cookies import Cookies, form_token
from swap_dashboard.ports import ApiRefused, MemberApi
from swap_dashboard.usecases.act_as_member import ActAsMember
from swap_dashboard.usecases.open_session import Browser, FindSession
from swap_runtime.sealing import Unreadable

APPS_MAX: Final = 100
BACKGROUND: Final = "x-background"
RANKS: Final = ("viewer", "developer", "admin", "owner")


class SignInNeeded(Exception):
    """There is no session, or it ended."""


class OrganizationNeeded(Exception):
    """The account is a member of no organization, or its membership ended."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A user who is signed in."""

    session: Session
    token: str
    memberships: Sequence[Membership]
    last_app_id: str = ""  # from the browser's header

    @property
    def form_token(self) -> str:
        return form_token(self.token)


@dataclass(frozen=True, slots=True)
class Member:
    """A user who is signed in, in the session's organization."""

    visitor: Visitor
    api: MemberApi
    me: Mapping[str, Any]
    apps: Sequence[Mapping[str, Any]] = field(default=())

    @property
    def organization_id(self) -> str:
        return str(self.me["organization"]["id"])

    @property
    def last_app(self) -> Mapping[str, Any] | None:
        """Return the app that was looked at last; None where it is another organization's."""
        wanted = self.visitor.last_app_id
        return next((app for app in self.apps if app["id"] == wanted), None)

    def may(self, role: str) -> bool:
        return RANKS.index(self.me["role"]) >= RANKS.index(role)

    def may_work_on(self, app: Mapping[str, Any]) -> bool:
        return self.may("developer" if app["environment"] == "test" else "admin")

    def app_of(self, request: Request) -> Mapping[str, Any]:
        """Return the app that the address names.

        :raises ApiRefused: as the api does of what does not exist.
        """
        app_id = to_uuid(request.path_params["app_id"])
        found = next((app for app in self.apps if app["id"] == app_id), None)
        if found is None:
            raise ApiRefused(404, "NOT_FOUND", "There is no such app")
        return found


class Visitors:
    def __init__(
        self,
        find_session: FindSession,
        act_as_member: ActAsMember,
        cookies: Cookies,
        *,
        trusted_proxies: Sequence[str],
    ) -> None:
        self._find_session = find_session
        self._act_as_member = act_as_member
        self._cookies = cookies
        self._addresses = ClientAddresses(trusted_proxies)

    async def find(self, request: Request, *, is_use: bool = True) -> Visitor | None:
        """
        :param is_use: False where a page asks by itself; its script names its other requests.
        """
        token = self._cookies.session(request)
        is_use = is_use and BACKGROUND not in request.headers
        session = await self._find_session(token, is_use=is_use) if token else None
        if session is None:
            return None
        memberships = await self._act_as_member.memberships(session.account_id)
        return Visitor(session, token, memberships, self._cookies.app(request))

    async def require(self, request: Request, *, is_use: bool = True) -> Visitor:
        """
        :raises SignInNeeded: without a session.
        """
        visitor = await self.find(request, is_use=is_use)
        if visitor is None:
            raise SignInNeeded
        return visitor

    async def member(self, request: Request, *, is_use: bool = True) -> Member:
        """Return the caller with the member's present role from the api, so that changes take
        effect at once.

        :raises SignInNeeded: without a session.
        :raises OrganizationNeeded: when the member is gone, or no key opens the access token.
        """
        return await self.member_of(await self.require(request, is_use=is_use))

    async def member_of(self, visitor: Visitor) -> Member:
        """
        :raises OrganizationNeeded: when the member is gone, or no key opens the access token.
        """
        session = visitor.session
        acting = next((m for m in visitor.memberships if m.id == session.membership_id), None)
        if acting is None:
            raise OrganizationNeeded
        try:
            api = await self._act_as_member(acting)
        except Unreadable:  # its key was removed: an invitation makes another token
            raise OrganizationNeeded from None
        apps_path = f"/organizations/{acting.organization_id}/apps"
        try:
            me, apps = await asyncio.gather(
                api.get("/me"), api.get(apps_path, {"page_size": APPS_MAX})
            )
        except ApiRefused as error:
            if error.code.startswith("ACCESS_TOKEN_"):
                raise OrganizationNeeded from None
            raise
        return Member(visitor, api, me.data, apps.data)

    async def is_signed_in(self, member: Member) -> bool:
        """Whether a member's session is open still, and acts in the same organization."""
        known = member.visitor.session
        session = await self._find_session(member.visitor.token, is_use=False)
        return session is not None and session.membership_id == known.membership_id

    def browser(self, request: Request) -> Browser:
        return Browser(request.headers.get("user-agent", ""), self.address(request))

    def address(self, request: Request) -> str:
        """Return the client's address."""
        return self._addresses.of(request)


def to_uuid(text: str) -> str:
    """Return an id of a path, so that nothing else gets into a path of the api.

    :raises ApiRefused: as the api does of what does not exist.
    """
    try:
        return str(UUID(text))
    except ValueError:
        raise ApiRefused(404, "NOT_FOUND", "There is nothing at this address") from None
