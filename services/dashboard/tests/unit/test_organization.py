"""What the page of an organization orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse

from swap_dashboard.adapters.api import BASE, HttpApi
from swap_dashboard.http.flashes import Flashes
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.organization import OrganizationPages
from swap_dashboard.http.visitors import Member, Visitors
from tests.support.serving import post, serve

APP = "00000000-0000-0000-0000-000000000001"


class Orders:
    """The api's routes for orders, which records them, and the form of a member."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.member: Member | None = None

    async def answer(self, request: Request) -> JSONResponse:
        self.sent.append((request.url.path, await request.json()))
        return JSONResponse({"data": {}, "error": None})

    async def read(self, _: Request) -> tuple[Member | None, Mapping[str, str]]:
        return self.member, {"name": "checkout"}


async def test_renaming_an_app_sends_its_name_alone() -> None:
    orders = Orders()
    pages = OrganizationPages(
        cast(Layout, None),
        cast(Visitors, None),
        cast(MemberForms, orders),
        cast(Flashes, None),
        public_url="",
    )

    async with serve(Starlette(routes=[post("/{path:path}", orders.answer)])) as url:
        api = HttpApi(url, answer_seconds=5, streams_max=1)
        apps = [{"id": APP, "name": "web", "swap_lifetime_seconds": 900}]
        orders.member = Member(cast(Any, None), api.as_member("token"), {"role": "owner"}, apps)
        await pages.rename_app(Request({"type": "http", "path_params": {"app_id": APP}}))
        await api.close()

    assert orders.sent == [(f"{BASE}/apps/{APP}/name", {"name": "checkout"})]
