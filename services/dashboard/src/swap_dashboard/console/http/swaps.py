"""Stuck swaps, and one swap with all of the settler's data."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.units import Units, to_dollars
from swap_dashboard.console.http.layout import ConsolePages
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.sign_in import to_id
from swap_dashboard.console.http.units import amount_of, read_units, token_of
from swap_dashboard.console.http.view import (
    Cell,
    Part,
    Table,
    View,
    code,
    deposit_link,
    document,
    label,
    moment,
    number,
    swap_link,
)
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
LEDGER: Final = "ledger"
TITLES: Final = {
    "transitions": "Transitions",
    "deposits": "Deposits",
    "intents": "Payments",
    "attempts": "Transactions of payments",
    "taken": "Payments made elsewhere",
    LEDGER: "Ledger",
    "balances": "Balances",
}
# Amounts in the token of their row.
AMOUNTS: Final = {
    "base_units": ">Amount",
    "charged_base_units": ">Charged",
    "returned_base_units": ">Returned",
    "balance": ">Balance",
}
HEADS: Final = {**AMOUNTS, "usd_micros": ">Worth"}
# Payments that the swap is charged for in its source token.
PAID_AT_DESTINATION: Final = ("output", "refuel")
# Amounts of a swap, in the token of one of its sides.
SIDES: Final = {
    "requested_base_units": "source",
    "fee_base_units": "source",
    "payout_base_units": "destination",
}
DEPOSIT_ONLY: Final = "is_booked"  # a field of deposits alone
CODES: Final = ("_id", "_address", "_hash", "token", "signer")


class SwapPages(ConsolePages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/stuck", self.list_stuck),
            Route("/swaps", self.search),
            Route("/swaps/{id}", self.show),
        ]

    async def list_stuck(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(SETTLER, "/stuck", page_query(request))
        rows = [
            [
                swap_link(one["swap_id"]),
                Cell(one["status"], "status"),
                moment(one["since"]),
            ]
            for one in content["stuck"]
        ]
        view = View(
            title="Stuck swaps",
            about="Swaps that are longer in one status than they may be.",
            parts=[Part("Stuck", table=Table(("Swap", "Status", "Since"), rows, "None is stuck."))],
            next_page=next_page(request, content),
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="stuck")

    async def search(self, request: Request) -> Response:
        self._visitors.require(request)
        id = to_id(request.query_params.get("id", "").strip())
        return RedirectResponse(f"/swaps/{id}", status_code=303)

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        id = to_id(request.path_params["id"])
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, f"/swaps/{id}"), read_units(visitor.api)
        )
        source = _asset(content["swap"], "source")
        shown = [name for name in TITLES if content.get(name)]
        ledger = f"#part-{shown.index(LEDGER) + 2}" if LEDGER in shown else ""  # behind the facts
        lists = [
            Part(TITLES[name], table=to_table(content[name], units, source=source, ledger=ledger))
            for name in shown
        ]
        view = View(
            title=f"Swap {id}",
            crumbs=[("/stuck", "Stuck swaps")],
            parts=[Part("Swap", facts=_facts(content["swap"], units)), *lists],
        )
        return self._layout.page(view, visitor, section="stuck")


def _facts(swap: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    return [_fact(swap, name, units) for name in swap]


def _fact(swap: Mapping[str, Any], name: str, units: Units) -> tuple[str, Cell]:
    side = SIDES.get(name)
    if side is None or swap[name] is None:
        return label(name), _cell(name, swap[name])
    shown = amount_of(units, {**_asset(swap, side), "base_units": swap[name]})
    return label(name.removesuffix("_base_units")), shown


def _asset(swap: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    return {"network": swap[f"{side}_network"], "token": swap[f"{side}_token"]}


def to_table(
    rows: Sequence[Mapping[str, Any]], units: Units, *, source: Mapping[str, Any], ledger: str
) -> Table:
    """Return the rows of a list of the swap with their columns.

    :param source: the network and token that the swap is charged in.
    :param ledger: the address of the postings that the amounts are made of.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell_of(row, name, units, source=source) for name in names] for row in rows]
    if "account" not in names:  # the postings themselves
        cells = [[replace(c, href=ledger) if c.kind == "amount" else c for c in r] for r in cells]
    return Table([HEADS.get(name, label(name)) for name in names], cells)


def _cell_of(row: Mapping[str, Any], name: str, units: Units, *, source: Mapping[str, Any]) -> Cell:
    """Return a value of a row: an amount and a token by the token's name."""
    if name == "deposit_id" or (name == "id" and DEPOSIT_ONLY in row):
        return deposit_link(row.get(name))
    value = row.get(name)
    if value is None or "network" not in row or "token" not in row:
        return _cell(name, value)
    if name == "usd_micros":
        return number(to_dollars(value))
    if name == "charged_base_units" and row.get("kind") in PAID_AT_DESTINATION:
        return amount_of(units, {**row, **source}, name)
    if name in AMOUNTS:
        return amount_of(units, row, name)
    return token_of(units, row) if name == "token" else _cell(name, value)


def _cell(name: str, value: Any) -> Cell:
    if isinstance(value, str) and (name == "at" or name.endswith("_at") or name == "since"):
        return moment(value)
    if isinstance(value, str) and (name == "id" or name.endswith(CODES)):
        return code(value, f"/swaps/{value}" if name == "swap_id" else "")
    return document(value)
