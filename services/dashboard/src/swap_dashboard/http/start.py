"""Where a visit begins."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.layout import Layout
from swap_dashboard.http.visitors import Visitors


class StartPages:
    def __init__(self, layout: Layout, visitors: Visitors) -> None:
        self._layout = layout
        self._visitors = visitors

    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/", self.show), Route("/robots.txt", self.robots)]

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        if not member.apps:
            return self._layout.of_member(
                "no_apps.html", {}, member=member, title="Start", section="home"
            )
        return RedirectResponse(f"/apps/{member.apps[0]['id']}/swaps", status_code=303)

    async def robots(self, _: Request) -> Response:
        return PlainTextResponse("User-agent: *\nDisallow: /\n")
