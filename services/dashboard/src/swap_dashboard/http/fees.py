"""What an app earns by its own fee: the sums, and each fee and payout that they are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.layout import Layout
from swap_dashboard.http.paging import filtered_link
from swap_dashboard.http.pay_view import public_link
from swap_dashboard.http.visitors import Visitors, to_uuid
from swap_dashboard.ports import ApiAnswer, ApiRefused

PAGE_SIZE: Final = 50
NAME_MAX: Final = 200
KINDS: Final = ("fee", "payout")
FILTERS: Final = ("kind", "network", "token")


class FeePages:
    def __init__(self, layout: Layout, visitors: Visitors) -> None:
        self._layout = layout
        self._visitors = visitors

    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/apps/{app_id}/fees", self.show)]

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        filters = _read_filters(request)
        path = f"/apps/{app['id']}/fees"
        named = {name: value for name, value in filters.items() if value}
        sums, answered = await asyncio.gather(
            member.api.get(path),
            _entries(member.api.get(f"{path}/entries", {"page_size": PAGE_SIZE, **named})),
        )
        entries = answered.data
        values = {
            "sums": [with_links(path, one) for one in sums.data],
            "entries": entries,
            "filters": filters,
            "is_filtered": any(filters[name] for name in FILTERS),
            "public_link": public_link,
            "first_link": filtered_link(path, filters) if filters["starting_after"] else None,
            "next_link": filtered_link(path, filters, starting_after=entries[-1]["id"])
            if answered.has_more
            else None,
        }
        return self._layout.of_member(
            "fees.html", values, member=member, app=app, title="Fees", section="fees"
        )


def with_links(path: str, sums: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sums of a token, with the lists of the entries that they are made of."""
    asset = {"network": sums["network"], "token": sums["token"]}
    lists = {kind: f"{path}?{urlencode({**asset, 'kind': kind})}#entries" for kind in KINDS}
    return {**sums, "all": f"{path}?{urlencode(asset)}#entries", **lists}


async def _entries(page: Awaitable[ApiAnswer]) -> ApiAnswer:
    """Return a page of the list; nothing where the address was written by hand."""
    try:
        return await page
    except ApiRefused as error:
        if error.status != HTTPStatus.BAD_REQUEST:
            raise
        return ApiAnswer([])


def _read_filters(request: Request) -> dict[str, str]:
    """Return the filters of the address; what cannot be one is left out."""
    query = request.query_params
    kind, after = query.get("kind", ""), query.get("starting_after", "")
    network, token = (query.get(name, "").strip()[:NAME_MAX] for name in ("network", "token"))
    is_asset = bool(network and token)
    return {
        "kind": kind if kind in KINDS else "",
        "network": network if is_asset else "",
        "token": token if is_asset else "",
        "starting_after": str(to_uuid(after)) if after else "",
    }
