"""The sites that may show an app's pay pages in a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.layout import Layout
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.origins import origins_of
from swap_dashboard.http.visitors import Member, Visitors
from swap_dashboard.ports import ApiRefused


class PayFramePages:
    def __init__(
        self, layout: Layout, visitors: Visitors, member_forms: MemberForms, *, public_url: str
    ) -> None:
        """
        :param public_url: what the address of a pay page begins with.
        """
        self._layout = layout
        self._visitors = visitors
        self._forms = member_forms
        self._public_url = public_url

    def routes(self) -> Sequence[BaseRoute]:
        path = "/apps/{app_id}/pay-page"
        return [Route(path, self.show), Route(path, self.save, methods=["POST"])]

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        return self._page(member, app, "\n".join(app["frame_origins"]))

    async def save(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = member.app_of(request)
        origins = fields.get("origins", "")
        try:
            await member.api.post(
                f"/apps/{app['id']}/frame_origins", {"origins": origins_of(origins)}
            )
        except ApiRefused as error:
            return self._page(member, app, origins, problem=error.message)
        return RedirectResponse(f"/apps/{app['id']}/pay-page", status_code=303)

    def _page(
        self, member: Member, app: Mapping[str, Any], origins: str, *, problem: str | None = None
    ) -> Response:
        values = {
            "origins": origins,
            "pay_url": f"{self._public_url}/pay",
            "problem": problem,
            "may_work": member.may_work_on(app),
        }
        return self._layout.of_member(
            "pay_frames.html", values, member=member, app=app, title="Pay page", section="pay-page"
        )
