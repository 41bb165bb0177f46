"""The caps on what may leave: set and lifted by an order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft, SeenRow
from swap_dashboard.console.domain.units import Units, to_dollars
from swap_dashboard.console.http.orders import OrderingPages, find_row, reason_of, require_field
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.site import OrderFault
from swap_dashboard.console.http.units import amount_of, read_units, token_of
from swap_dashboard.console.http.view import (
    Cell,
    Field,
    OrderForm,
    Part,
    Table,
    View,
    amount,
    code,
    label,
    link,
    moment,
    number,
    plain,
    swap_link,
    swap_page,
    url_with,
    whole,
)
from swap_dashboard.console.ports import ServiceName
from swap_dashboard.http.rendering import duration

SETTLER: Final = ServiceName.SETTLER
COLUMNS: Final = ("Cap", ">Limit", ">Spent", "In any", ">Waiting", "Set", "By", "Reason")
COUNTED: Final = ("Counts until", "Kind", ">Counts", ">Amount", "Transaction", "Swap")
OF_SPENT: Final = ("Limit", "In any", "Spent")
SHOWN: Final = ("units", "seconds", "set_at")  # a lifted or changed cap is another one
DAY_SECONDS: Final = "86400"


class CapPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/caps", self.list_all),
            Route("/caps/one", self.show),
            Route("/caps/{id:int}/spent", self.show_spent),
            Route("/caps/set", self.set, methods=["POST"]),
            Route("/caps/lift", self.lift, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/caps"), read_units(visitor.api)
        )
        rows = [_row(one, units) for one in content["caps"]]
        parts = [
            Part("Caps", table=Table(COLUMNS, rows, "No cap is set: nothing bounds what leaves.")),
            Part("Set a cap", forms=[_set_form(units)]),
        ]
        view = View(
            title="Caps",
            about="How much may leave in any span of time. What is beyond waits.",
            parts=parts,
        )
        return self._layout.page(view, visitor, section="caps")

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/caps"), read_units(visitor.api)
        )
        one = find_row(content["caps"], **_key(request.query_params))
        part = Part("Cap", facts=_facts(one, units), forms=[_change_form(one), _lift_form(one)])
        view = View(title=_name(one, units), crumbs=[("/caps", "Caps")], parts=[part])
        return self._layout.page(view, visitor, section="caps")

    async def show_spent(self, request: Request) -> Response:
        """Show the payments that a cap's spent amount is made of."""
        visitor = self._visitors.require(request)
        path = f"/caps/{request.path_params['id']}/spent"
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, path, page_query(request)), read_units(visitor.api)
        )
        cap = content["cap"]
        rows = [_counted_cells(cap, one, units) for one in content["payments"]]
        facts = [
            (name, replace(cell, href="") if name == "Spent" else cell)
            for name, cell in _facts(cap, units)
            if name in OF_SPENT
        ]
        view = View(
            title=f"{_name(cap, units)}: spent",
            about="Payments that count under the cap now. "
            "Payments that are proven not to have left no longer count.",
            crumbs=[("/caps", "Caps"), (_href(cap), _name(cap, units))],
            parts=[
                Part("Cap", facts=facts),
                Part("Payments", table=Table(COUNTED, rows, "No payment counts now.")),
            ],
            next_page=next_page(request, content),
        )
        return self._layout.page(view, visitor, section="caps")

    async def set(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/caps"), read_units(visitor.api)
        )
        key = _order_key(fields, units)
        body = {
            **key,
            "units": _digits(fields, "units", "The limit"),
            "seconds": int(_digits(fields, "seconds", "The span")),
            "reason": reason_of(fields),
        }
        present = _find(content["caps"], key)
        before = "none" if present is None else f"{_limit(present, units)} in {_span(present)}"
        draft = OrderDraft(
            service=SETTLER.value,
            path="/caps",
            body=body,
            title="Set a cap",
            facts=[
                *_order_facts(key, units),
                ("Limit", str(_limit({**key, "units": body["units"]}, units))),
                ("In any", _span(body)),
                ("Limit until now", before),
            ],
            back="/caps",
            seen=None if present is None else _seen_row(present),
        )
        return self._orders.review(visitor, draft)

    async def lift(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/caps"), read_units(visitor.api)
        )
        key = _order_key(fields, units)
        one = find_row(content["caps"], **key, set_at=fields.get("set_at", ""))
        draft = OrderDraft(
            service=SETTLER.value,
            path="/caps/lift",
            body={**key, "reason": reason_of(fields)},
            title="Lift a cap",
            facts=[
                *_order_facts(key, units),
                ("Limit until now", f"{_limit(one, units)} in {_span(one)}"),
                ("Payments that wait for it", str(one["waiting"])),
            ],
            back="/caps",
            warning="What it held is sent at once, and nothing bounds what follows.",
            seen=_seen_row(one),
        )
        return self._orders.review(visitor, draft)


def _key(values: Mapping[str, str]) -> dict[str, str | None]:
    return {name: values.get(name) or None for name in ("network", "token", "app_id")}


def _order_key(fields: Mapping[str, str], units: Units) -> dict[str, str | None]:
    """Return what a cap is of, named as the settler lists it.

    :raises OrderFault: when the token or the application is none that can be meant.
    """
    network = require_field(fields, "network", "The network")
    token, app_id = fields.get("token", ""), fields.get("app_id", "")
    known = units.token(network, token)
    if token and known is None:
        raise OrderFault(f"{token} is no token of {network}.")
    return {"network": network, "token": known if token else None, "app_id": _app(app_id)}


def _app(text: str) -> str | None:
    """
    :raises OrderFault: when it is no id.
    """
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        raise OrderFault("The application is named by its id.") from None


def _digits(fields: Mapping[str, str], name: str, label: str) -> str:
    """
    :raises OrderFault: when it is no whole number.
    """
    text = require_field(fields, name, label)
    if not (text.isascii() and text.isdecimal()) or len(text) > 78:  # noqa: PLR2004
        raise OrderFault(f"{label} is a whole number.")
    return text


def _find(
    caps: Sequence[Mapping[str, Any]], key: Mapping[str, str | None]
) -> Mapping[str, Any] | None:
    return next((one for one in caps if all(one[name] == key[name] for name in key)), None)


def _seen_row(one: Mapping[str, Any]) -> SeenRow:
    key = {name: one[name] for name in ("network", "token", "app_id")}
    return SeenRow(SETTLER.value, "/caps", "caps", key, {name: one[name] for name in SHOWN})


def _limit(one: Mapping[str, Any], units: Units, name: str = "units") -> str:
    if one["token"] is None:
        return to_dollars(one[name])
    return str(units.amount(one["network"], one["token"], one[name]))


def _limit_cell(one: Mapping[str, Any], units: Units, name: str) -> Cell:
    if one["token"] is None:
        return number(to_dollars(one[name]))
    return amount(units.amount(one["network"], one["token"], one[name]))


def _span(one: Mapping[str, Any]) -> str:
    return duration(timedelta(seconds=int(one["seconds"])))


def _name(one: Mapping[str, Any], units: Units) -> str:
    what = "all tokens" if one["token"] is None else units.symbol(one["network"], one["token"])
    return f"{one['network']}, {what}" + (f", app {one['app_id']}" if one["app_id"] else "")


def _row(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        link(_name(one, units), _href(one)),
        _limit_cell(one, units, "units"),
        _spent_cell(one, units),
        plain(_span(one)),
        _waiting(one),
        moment(one["set_at"]),
        plain(one["by"]),
        whole(one["reason"]),
    ]


def _spent_cell(one: Mapping[str, Any], units: Units) -> Cell:
    """Return what is spent, with the page of its payments.

    A settler of the previous release has no such list, and names no id.
    """
    is_linked = "id" in one and int(one["spent"]) > 0
    href = f"/caps/{one['id']}/spent" if is_linked else ""
    return replace(_limit_cell(one, units, "spent"), href=href)


def _counted_cells(cap: Mapping[str, Any], one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    swap = swap_page(one["swap_id"])
    counts = _limit_cell({**cap, "units": one["units"]}, units, "units")
    return [
        moment(one["counts_until"]),
        plain(label(one["kind"])),
        replace(counts, href=swap),
        replace(amount_of(units, one), href=swap),
        code(one["transaction_hash"]),
        swap_link(one["swap_id"]),
    ]


def _waiting(one: Mapping[str, Any]) -> Cell:
    """Return how many wait: the page of payments has those of all caps."""
    return replace(number(one["waiting"]), href="/payments" if one["waiting"] else "")


def _href(one: Mapping[str, Any]) -> str:
    return url_with("/caps/one", network=one["network"], token=one["token"], app_id=one["app_id"])


def _facts(one: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    return [
        ("Network", plain(one["network"])),
        ("Token", token_of(units, one) if one["token"] else plain("all of them, in dollars")),
        ("App", code(one["app_id"]) if one["app_id"] else plain("all of them")),
        ("Limit", _limit_cell(one, units, "units")),
        ("In any", plain(_span(one))),
        ("Spent", _spent_cell(one, units)),
        ("Payments that wait", _waiting(one)),
        ("Set", moment(one["set_at"])),
        ("By", plain(one["by"])),
        ("Reason", whole(one["reason"])),
    ]


def _order_facts(key: Mapping[str, str | None], units: Units) -> Sequence[tuple[str, str]]:
    network, token = str(key["network"]), key["token"]
    return [
        ("Network", network),
        ("Token", units.full_name(network, token) if token else "all of them, in dollars"),
        ("App", key["app_id"] or "all of them"),
    ]


def _set_form(units: Units) -> OrderForm:
    networks = [(name, name) for name in units.networks]
    return OrderForm(
        "/caps/set",
        "Set the cap",
        fields=[
            Field("network", "Network", kind="select", options=networks),
            Field("token", "Token", placeholder="Address; empty: all", is_required=False),
            Field("app_id", "App", placeholder="Id; empty: all", is_required=False),
            *_limit_fields("", DAY_SECONDS),
        ],
        about="Raising one may need a second operator; lowering never does.",
    )


def _limit_fields(limit: str, seconds: str) -> Sequence[Field]:
    hint = "Base units of the token; millionths of a dollar without one."
    return (
        Field("units", "Limit", value=limit, kind="number", hint=hint),
        Field("seconds", "Seconds that it counts", value=seconds, kind="number"),
    )


def _hidden_fields(one: Mapping[str, Any]) -> Sequence[Field]:
    names = ("network", "token", "app_id")
    return [Field(name, "", value=str(one[name] or ""), kind="hidden") for name in names]


def _change_form(one: Mapping[str, Any]) -> OrderForm:
    fields = [*_limit_fields(str(one["units"]), str(one["seconds"])), *_hidden_fields(one)]
    return OrderForm("/caps/set", "Change the cap", fields)


def _lift_form(one: Mapping[str, Any]) -> OrderForm:
    fields = [*_hidden_fields(one), Field("set_at", "", value=str(one["set_at"]), kind="hidden")]
    return OrderForm("/caps/lift", "Lift the cap", fields, is_danger=True)
