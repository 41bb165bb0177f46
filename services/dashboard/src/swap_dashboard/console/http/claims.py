"""Balances that wait for their owners: paid, or attached to a swap, by an order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft
from swap_dashboard.console.domain.units import Units
from swap_dashboard.console.http.orders import (
    OrderingPages,
    reason_of,
    require_field,
    require_same,
)
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.units import amount_of, read_units, token_of
from swap_dashboard.console.http.view import (
    Cell,
    Field,
    OrderForm,
    Part,
    Table,
    View,
    badge,
    code,
    deposit_link,
    link,
    plain,
    swap_link,
)
from swap_dashboard.console.http.visitors import Visitor
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
SUSPENSE: Final = "suspense"  # it belongs to no swap
OWNER_QUESTION: Final = "How is it known whose it is"


class ClaimPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/claimables", self.list_all),
            Route("/claimables/{id:int}", self.show),
            Route("/claimables/{id:int}/pay", self.pay, methods=["POST"]),
            Route("/claimables/{id:int}/attach", self.attach, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/claimable", page_query(request)), read_units(visitor.api)
        )
        rows = [_row(one, units) for one in content["claimable"]]
        columns = ("Balance", "Kind", "Network", ">Amount", "Swap", "Deposit")
        view = View(
            title="Claimables",
            about="Money that could not be sent, and money that came without a swap.",
            parts=[Part("Balances", table=Table(columns, rows, "Nothing waits for its owner."))],
            next_page=next_page(request, content),
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="claimables")

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        one, units = await self._find(request, visitor)
        part = Part("Balance", facts=_facts(one, units), forms=_forms(one))
        view = View(
            title=f"Balance {one['id']}",
            crumbs=[("/claimables", "Claimables")],
            parts=[part],
        )
        return self._layout.page(view, visitor, section="claimables")

    async def pay(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        one, units = await self._find(request, visitor)
        to = require_field(fields, "to_address", "The address of its owner")
        body = {"to_address": to, **_shown_amount(fields, one), "reason": reason_of(fields)}
        facts = [("To", to), *_order_facts(one, units)]
        return self._review(visitor, one, "pay", "Pay balance", body=body, facts=facts)

    async def attach(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        one, units = await self._find(request, visitor)
        swap = require_field(fields, "swap_id", "The swap")
        body = {"swap_id": swap, **_shown_amount(fields, one), "reason": reason_of(fields)}
        facts = [("To the swap", swap), *_order_facts(one, units)]
        return self._review(visitor, one, "attach", "Attach balance", body=body, facts=facts)

    def _review(
        self,
        visitor: Visitor,
        one: Mapping[str, Any],
        verb: str,
        title: str,
        *,
        body: Mapping[str, Any],
        facts: Sequence[tuple[str, str]],
    ) -> Response:
        draft = OrderDraft(
            service=SETTLER.value,
            path=f"/claimable/{one['id']}/{verb}",
            body=body,
            title=f"{title} {one['id']}",
            facts=facts,
            back=f"/claimables/{one['id']}",
        )
        return self._orders.review(visitor, draft)

    async def _find(self, request: Request, visitor: Visitor) -> tuple[Mapping[str, Any], Units]:
        """
        :raises ServiceRefused: when it was paid or attached meanwhile.
        """
        path = f"/claimable/{request.path_params['id']}"
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, path), read_units(visitor.api)
        )
        return content["claimable"], units


def _shown_amount(fields: Mapping[str, str], one: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the amount that the form showed; the settler refuses another one as well.

    :raises OrderFault: when the balance has changed since.
    """
    return {"base_units": require_same(fields, one, "base_units")}


def _row(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        link(f"#{one['id']}", f"/claimables/{one['id']}"),
        _kind(one),
        plain(one["network"]),
        amount_of(units, one),
        swap_link(one["swap_id"]),
        deposit_link(one["deposit_id"]),
    ]


def _kind(one: Mapping[str, Any]) -> Cell:
    is_without_swap = one["kind"] == SUSPENSE
    return badge("no swap" if is_without_swap else "claimable", "warning")


def _facts(one: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    return [
        ("Kind", _kind(one)),
        ("Network", plain(one["network"])),
        ("Token", token_of(units, one)),
        ("Contract", code(one["token"])),
        ("Amount", amount_of(units, one)),
        ("Base units", plain(one["base_units"])),
        ("Swap", swap_link(one["swap_id"])),
        ("Deposit", deposit_link(one["deposit_id"])),
    ]


def _order_facts(one: Mapping[str, Any], units: Units) -> Sequence[tuple[str, str]]:
    shown = units.amount(one["network"], one["token"], one["base_units"])
    return [
        ("Amount", str(shown)),
        ("Base units", str(one["base_units"])),
        ("Network", str(one["network"])),
        ("Token", str(one["token"])),
        ("Swap", str(one["swap_id"] or "none")),
    ]


def _forms(one: Mapping[str, Any]) -> Sequence[OrderForm]:
    where = f"/claimables/{one['id']}"
    units = Field("base_units", "", value=str(one["base_units"]), kind="hidden")
    pay = OrderForm(
        f"{where}/pay",
        "Pay the balance",
        fields=[Field("to_address", "Address of its owner", placeholder="0x…"), units],
        about="All of it is sent on its network to its owner.",
        question=OWNER_QUESTION,
    )
    if one["kind"] != SUSPENSE:
        return (pay,)
    attach = OrderForm(
        f"{where}/attach",
        "Attach to the swap",
        fields=[Field("swap_id", "Swap that it was meant for"), units],
        about="It becomes an ordinary deposit of the swap.",
        question=OWNER_QUESTION,
    )
    return (pay, attach)
