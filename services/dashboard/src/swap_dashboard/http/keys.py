"""An app's API keys: make, replace, revoke, and the web pages that may use one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.flashes import Flash, Flashes
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.origins import origins_of
from swap_dashboard.http.paging import Page
from swap_dashboard.http.visitors import Member, Visitors, to_uuid
from swap_dashboard.ports import ApiRefused

KINDS: Final = ("secret", "publishable")
KEYS: Final = 50
OVERLAPS: Final = {"0": 0, "hour": 3600, "day": 86400, "week": 7 * 86400}


@dataclass(frozen=True, slots=True)
class RefusedOrigins:
    """What was entered as the origins of a key, and is not taken."""

    key_id: str
    entered: str


class KeyPages:
    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        member_forms: MemberForms,
        flashes: Flashes,
        *,
        api_url: str,
    ) -> None:
        """
        :param api_url: the API's address, as servers reach it.
        """
        self._api_url = api_url.rstrip("/")
        self._layout = layout
        self._visitors = visitors
        self._forms = member_forms
        self._flashes = flashes

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/apps/{app_id}/keys", self.show),
            Route("/apps/{app_id}/keys", self.add, methods=["POST"]),
            Route("/apps/{app_id}/keys/{key_id}/rotate", self.rotate, methods=["POST"]),
            Route("/apps/{app_id}/keys/{key_id}/revoke", self.revoke, methods=["POST"]),
            Route("/apps/{app_id}/keys/{key_id}/origins", self.set_origins, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app, text = member.app_of(request), request.query_params.get("starting_after", "")
        after = to_uuid(text) if text else ""
        return await self._flashes.show(
            request, member, lambda flash: self._page(member, app, after=after, flash=flash)
        )

    async def add(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = member.app_of(request)
        kind = fields.get("kind", "")
        entered = fields.get("origins", "")
        body = {
            "kind": kind if kind in KINDS else KINDS[0],
            "label": fields.get("label") or None,
            "allowed_origins": origins_of(entered),
        }
        path = f"/apps/{app['id']}/keys"
        return await self._issue(member, app, path, body, new_origins=entered)

    async def rotate(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app, key_id = member.app_of(request), to_uuid(request.path_params["key_id"])
        body = {"overlap_seconds": OVERLAPS.get(fields.get("overlap", ""), OVERLAPS["day"])}
        return await self._issue(member, app, f"/keys/{key_id}/rotate", body)

    async def revoke(self, request: Request) -> Response:
        member, _ = await self._forms.read(request)
        app, key_id = member.app_of(request), to_uuid(request.path_params["key_id"])
        try:
            await member.api.post(f"/keys/{key_id}/revoke")
        except ApiRefused as error:
            return await self._page(member, app, problem=error.message)
        return RedirectResponse(f"/apps/{app['id']}/keys", status_code=303)

    async def set_origins(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app, key_id = member.app_of(request), to_uuid(request.path_params["key_id"])
        entered = fields.get("origins", "")
        try:
            await member.api.post(
                f"/keys/{key_id}/allowed_origins", {"origins": origins_of(entered)}
            )
        except ApiRefused as error:
            refused = RefusedOrigins(str(key_id), entered)
            return await self._page(member, app, problem=error.message, refused=refused)
        return RedirectResponse(f"/apps/{app['id']}/keys#origins", status_code=303)

    async def _issue(
        self,
        member: Member,
        app: Mapping[str, Any],
        path: str,
        body: Mapping[str, Any],
        *,
        new_origins: str = "",
    ) -> Response:
        try:
            made = (await member.api.post(path, body)).data
        except ApiRefused as error:
            return await self._page(member, app, problem=error.message, new_origins=new_origins)
        flash = Flash(
            about="The key. It is shown this once: put it where your server reads it.",
            secret=made["key"],
        )
        return self._flashes.redirect(member, f"/apps/{app['id']}/keys", flash)

    async def _page(
        self,
        member: Member,
        app: Mapping[str, Any],
        *,
        after: str = "",
        flash: Flash | None = None,
        problem: str | None = None,
        refused: RefusedOrigins | None = None,
        new_origins: str = "",
    ) -> Response:
        """
        :param new_origins: what was entered for a key that was not made.
        """
        path = f"/apps/{app['id']}/keys"
        listed = await member.api.get(path, {"starting_after": after, "page_size": KEYS})
        values = {
            "keys": listed.data,
            "pager": Page.behind(path, after, listed),
            "flash": flash,
            "api_url": self._api_url,
            "problem": problem,
            "refused": refused,
            "new_origins": new_origins,
            "may_work": member.may_work_on(app),
        }
        return self._layout.of_member(
            "keys.html",
            values,
            member=member,
            app=app,
            title="API keys",
            section="keys",
        )
