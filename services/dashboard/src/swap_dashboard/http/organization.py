"""An organization: its members, invitations, apps, and the log of changes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.domain.accounts import to_email
from swap_dashboard.domain.refusals import RefusedRequest
from swap_dashboard.http.flashes import Flash, Flashes
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.paging import Page
from swap_dashboard.http.rendering import moment
from swap_dashboard.http.visitors import RANKS, Member, Visitors, to_uuid
from swap_dashboard.ports import ApiRefused

LISTED: Final = 100
CHANGES: Final = 50
ENTRY_ID: Final = re.compile(r"[1-9]\d{0,17}", re.ASCII)
ENVIRONMENTS: Final = ("test", "live")


LIMITS: Final = {
    "reads_per_minute": "reads a minute",
    "prices_per_minute": "quotes a minute",
    "creates_per_minute": "new swaps a minute",
    "ceiling_factor": "clients at full rate",
    "pending_swaps_max": "unpaid swaps",
}


def limits_of(app: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the limits that an operator has set for the app; others are the deployment's."""
    return [(text, app[name]) for name, text in LIMITS.items() if app[name] is not None]


class OrganizationPages:
    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        member_forms: MemberForms,
        flashes: Flashes,
        *,
        public_url: str,
    ) -> None:
        """
        :param public_url: what links of invitations begin with.
        """
        self._layout = layout
        self._visitors = visitors
        self._forms = member_forms
        self._flashes = flashes
        self._public_url = public_url

    def routes(self) -> Sequence[BaseRoute]:
        base = "/organization"
        return [
            Route(base, self.show),
            Route(base, self.rename, methods=["POST"]),
            Route(f"{base}/changes", self.changes),
            Route(f"{base}/apps", self.add_app, methods=["POST"]),
            Route(f"{base}/apps/{{app_id}}", self.rename_app, methods=["POST"]),
            Route(f"{base}/invitations", self.invite, methods=["POST"]),
            Route(f"{base}/invitations/{{id}}/revoke", self.uninvite, methods=["POST"]),
            Route(f"{base}/members/{{id}}/role", self.change_role, methods=["POST"]),
            Route(f"{base}/members/{{id}}/remove", self.remove, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        return await self._flashes.show(
            request, member, lambda flash: self._page(member, flash=flash)
        )

    async def rename(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        path = f"/organizations/{member.organization_id}"
        return await self._order(member, path, {"name": fields.get("name", "")})

    async def add_app(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        environment = fields.get("environment", "")
        body = {
            "name": fields.get("name", ""),
            "environment": environment if environment in ENVIRONMENTS else ENVIRONMENTS[0],
        }
        try:
            made = await member.api.post(f"/organizations/{member.organization_id}/apps", body)
        except ApiRefused as error:
            return await self._page(member, problem=error.message)
        return RedirectResponse(f"/apps/{made.data['id']}/keys", status_code=303)

    async def rename_app(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = member.app_of(request)
        body = {"name": fields.get("name", "")}
        return await self._order(member, f"/apps/{app['id']}/name", body)

    async def invite(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        role, entered = fields.get("role", ""), fields.get("name", "")
        path = f"/organizations/{member.organization_id}/invitations"
        try:
            email = to_email(entered)  # an invitation is bound to it
            body = {"name": email, "role": role if role in RANKS else RANKS[0]}
            made = (await member.api.post(path, body)).data
        except RefusedRequest as error:
            return await self._page(member, problem=error.message, entered=entered)
        flash = Flash(
            about=f"The link that admits {email}, once, until {moment(made['expires_at'])}. It is "
            "shown this once, and no mail is sent: send it yourself.",
            secret=f"{self._public_url}/join?invitation={made['token']}",
        )
        return self._flashes.redirect(member, "/organization", flash)

    async def uninvite(self, request: Request) -> Response:
        member, _ = await self._forms.read(request)
        invitation_id = to_uuid(request.path_params["id"])
        return await self._order(member, f"/invitations/{invitation_id}/revoke", {})

    async def change_role(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        path = f"/members/{to_uuid(request.path_params['id'])}/role"
        return await self._order(member, path, {"role": fields.get("role", "")})

    async def remove(self, request: Request) -> Response:
        member, _ = await self._forms.read(request)
        path = f"/members/{to_uuid(request.path_params['id'])}/remove"
        return await self._order(member, path, {})

    async def changes(self, request: Request) -> Response:
        member, after = await self._visitors.member(request), entry_of(request)
        path = f"/organizations/{member.organization_id}/changes"
        listed = await member.api.get(path, {"starting_after": after, "page_size": CHANGES})
        values = {
            "changes": listed.data,
            "pager": Page.behind("/organization/changes", after, listed),
        }
        return self._layout.of_member(
            "changes.html", values, member=member, title="Log of changes", section="changes"
        )

    async def _order(self, member: Member, path: str, body: Mapping[str, Any]) -> Response:
        try:
            await member.api.post(path, body)
        except ApiRefused as error:
            return await self._page(member, problem=error.message)
        return RedirectResponse("/organization", status_code=303)

    async def _page(
        self,
        member: Member,
        *,
        problem: str | None = None,
        entered: str = "",
        flash: Flash | None = None,
    ) -> Response:
        """
        :param entered: the email of an invitation that was not made.
        """
        path, window = f"/organizations/{member.organization_id}", {"page_size": LISTED}
        members = member.api.get(f"{path}/members", window)
        if member.may("admin"):
            listed, invited = await asyncio.gather(
                members, member.api.get(f"{path}/invitations", window)
            )
            invitations = invited.data
        else:
            listed, invitations = await members, None
        values = {
            "members": listed.data,
            "invitations": invitations,
            "limits_of": limits_of,
            "roles": [role for role in reversed(RANKS) if role != "owner" or member.may("owner")],
            "problem": problem,
            "entered": entered,
            "flash": flash,
        }
        return self._layout.of_member(
            "organization.html",
            values,
            member=member,
            title="Organization",
            section="organization",
        )


def entry_of(request: Request) -> str:
    """Return the entry that a page begins behind; empty for the first page."""
    text = request.query_params.get("starting_after", "")
    return text if ENTRY_ID.fullmatch(text) else ""
