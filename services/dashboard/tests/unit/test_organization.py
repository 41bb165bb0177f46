"""What the page of an organization orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from starlette.requests import Request

from swap_dashboard.http.flashes import Flashes
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.organization import OrganizationPages
from swap_dashboard.http.visitors import Member, Visitors
from swap_dashboard.ports import ApiAnswer

APP = "00000000-0000-0000-0000-000000000001"


class Orders:
    """An api that records what is ordered, and the form of its member."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> ApiAnswer:
        self.sent.append((path, body))
        return ApiAnswer({})

    async def read(self, _: Request) -> tuple[Member, Mapping[str, str]]:
        apps = [{"id": APP, "name": "web", "swap_lifetime_seconds": 900}]
        member = Member(cast(Any, None), cast(Any, self), {"role": "owner"}, apps)
        return member, {"name": "checkout"}


async def test_renaming_an_app_sends_its_name_alone() -> None:
    orders = Orders()
    pages = OrganizationPages(
        cast(Layout, None),
        cast(Visitors, None),
        cast(MemberForms, orders),
        cast(Flashes, None),
        public_url="",
    )

    await pages.rename_app(Request({"type": "http", "path_params": {"app_id": APP}}))

    assert orders.sent == [(f"/apps/{APP}/name", {"name": "checkout"})]
