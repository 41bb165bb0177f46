"""Who must not be paid: addresses blocked and let go by an order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft
from swap_dashboard.console.http.orders import OrderingPages, reason_of
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.site import OrderFault
from swap_dashboard.console.http.units import read_units
from swap_dashboard.console.http.view import (
    Cell,
    Field,
    OrderForm,
    Part,
    Table,
    View,
    code,
    link,
    moment,
    part_of,
    plain,
    url_with,
    whole,
)
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
COLUMNS: Final = ("Address", "Network", "Since", "By", "Reason", "")
EVERYWHERE: Final = "all networks"
BLOCK_ABOUT: Final = "No swap is offered or paid to them; their money becomes claimable."


class BlockedPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/blocked", self.list_all),
            Route("/blocked/one", self.show),
            Route("/blocked/add", self.block, methods=["POST"]),
            Route("/blocked/lift", self.lift, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/blocked", page_query(request)), read_units(visitor.api)
        )
        rows = [_row(one) for one in content["blocked"]]
        parts = [
            Part(
                "Blocked",
                table=Table(COLUMNS, rows, "No address is blocked."),
                next_page=next_page(request, content),
            ),
            Part("Block addresses", forms=[_block_form(units.networks)]),
        ]
        view = View(title="Blocked addresses", parts=parts)
        return self._layout.page(
            view,
            visitor,
            section="blocked",
            name="blocked.html",
            networks=units.networks,
            everywhere=EVERYWHERE,
        )

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        query = request.query_params
        address = query.get("address", "").strip()
        if not address:
            raise HTTPException(404)
        path = f"/blocked/{part_of(address)}"
        content = await visitor.api.get(SETTLER, path, {"network": query.get("network", "")})
        one = content["blocked"]
        form = OrderForm(
            "/blocked/lift",
            "Unblock the address",
            fields=[
                Field("addresses", "", value=str(one["address"]), kind="hidden"),
                Field("network", "", value=str(one["network"] or ""), kind="hidden"),
            ],
            about="It may be paid again.",
        )
        part = Part("Address", facts=_facts(one), forms=[form])
        crumbs = [("/blocked", "Blocked addresses")]
        view = View(title="Blocked address", crumbs=crumbs, parts=[part])
        return self._layout.page(view, visitor, section="blocked")

    async def block(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        draft = _draft(fields, "/blocked", "Block addresses", BLOCK_ABOUT)
        return self._orders.review(visitor, draft)

    async def lift(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        draft = _draft(fields, "/blocked/lift", "Let an address go", "It may be paid again.")
        return self._orders.review(visitor, draft)


def _draft(fields: Mapping[str, str], path: str, title: str, warning: str) -> OrderDraft:
    """
    :raises OrderFault: when no address is given.
    """
    addresses = fields.get("addresses", "").split()
    if not addresses:
        raise OrderFault("No address is given.")
    network = fields.get("network") or None
    facts = [("Network", network or EVERYWHERE), ("Addresses", str(len(addresses)))]
    return OrderDraft(
        service=SETTLER.value,
        path=path,
        body={"addresses": addresses, "network": network, "reason": reason_of(fields)},
        title=title,
        facts=[*facts, *((f"Address {n}", one) for n, one in enumerate(addresses, 1))],
        back="/blocked",
        warning=warning,
    )


def _row(one: Mapping[str, Any]) -> Sequence[Cell]:
    return [
        code(one["address"]),
        plain(one["network"] or EVERYWHERE),
        moment(one["at"]),
        plain(one["by"]),
        whole(one["reason"]),
        link("Open", url_with("/blocked/one", address=one["address"], network=one["network"])),
    ]


def _facts(one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    return [
        ("Address", code(one["address"])),
        ("Network", plain(one["network"] or EVERYWHERE)),
        ("Since", moment(one["at"])),
        ("By", plain(one["by"])),
        ("Reason", whole(one["reason"])),
    ]


def _block_form(networks: Sequence[str]) -> OrderForm:
    options = [("", EVERYWHERE), *((name, name) for name in networks)]
    fields = [
        Field("addresses", "Addresses, one a line", kind="area", placeholder="0x…"),
        Field("network", "Network", kind="select", options=options, is_required=False),
    ]
    return OrderForm("/blocked/add", "Block", fields, about=BLOCK_ABOUT, is_danger=True)
