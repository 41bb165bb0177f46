"""What an app may, and how much of it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.layout import Layout
from swap_dashboard.http.visitors import Visitors


class LimitPages:
    def __init__(self, layout: Layout, visitors: Visitors) -> None:
        self._layout = layout
        self._visitors = visitors

    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/apps/{app_id}/limits", self.show)]

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        limits, networks = await asyncio.gather(
            member.api.get(f"/apps/{app['id']}/limits"),
            member.api.get(f"/apps/{app['id']}/networks"),
        )
        names = {one["name"]: one["display_name"] for one in networks.data}
        return self._layout.of_member(
            "limits.html",
            {"limits": limits.data, "network_names": names},
            member=member,
            app=app,
            title="Limits and usage",
            section="limits",
        )
