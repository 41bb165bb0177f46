"""What is held after a restore, and how it is ended by an order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft, SeenRow
from swap_dashboard.console.domain.units import Units
from swap_dashboard.console.http.orders import OrderingPages, find_row, reason_of
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.units import amount_of, read_units
from swap_dashboard.console.http.view import (
    Cell,
    OrderForm,
    Part,
    Table,
    View,
    badge,
    code,
    deposit_link,
    document,
    label,
    moment,
    number,
    plain,
    swap_link,
    swap_page,
)
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
PARTS: Final = {
    "networks": "Networks",
    "signers": "Signers",
    "addresses": "Deposit addresses",
    "forgotten": "Payments that the restored ledger has forgotten",
    "uncompared": "Networks that could not be compared",
}
FINISH_WARNING: Final = "It ends by itself once it is proven. What it holds is paid at once."
HELD: Final = ("Since", "Kind", "Network", ">Amount", "Swap", "Deposit", "App")
CODES: Final = ("_id", "_hash", "address")
LINKS: Final = {"swap_id": swap_link, "deposit_id": deposit_link}


class RecoveryPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/recovery", self.show),
            Route("/recovery/held", self.show_held),
            Route("/recovery/retained/{id:int}", self.show_retained),
            Route("/recovery/retained/{id:int}/release", self.release, methods=["POST"]),
            Route("/recovery/{id:int}/finish", self.finish, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(SETTLER, "/recovery")
        recoveries = [_recovery(one) for one in content["recoveries"]]
        lists = [
            Part(title, table=_table(content[name]))
            for name, title in PARTS.items()
            if content.get(name)
        ]
        retained = content.get("retained") or ()
        if retained:
            href = "/recovery/retained/"
            lists.append(Part("Retained holds", table=_table(retained, href=href)))
        none = "No recovery was needed yet."
        parts = [*recoveries, *_held_now(content), *lists]
        view = View(title="Recovery", about="" if recoveries else none, parts=parts)
        return self._layout.page(view, visitor, section="recovery")

    async def show_held(self, request: Request) -> Response:
        """Show the payments that the number of held ones is made of."""
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/recovery/held", page_query(request)),
            read_units(visitor.api),
        )
        rows = [_held_cells(one, units) for one in content["held"]]
        view = View(
            title="Held payments",
            about="Payments and refunds that wait for the end of a recovery or of a retained hold, "
            "or until a network can be compared with its ledger. The oldest first.",
            crumbs=[("/recovery", "Recovery")],
            parts=[Part("Held", table=Table(HELD, rows, "Nothing is held."))],
            next_page=next_page(request, content),
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="recovery")

    async def show_retained(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(SETTLER, "/recovery")
        one = find_row(content.get("retained") or (), id=request.path_params["id"])
        form = OrderForm(
            f"/recovery/retained/{one['id']}/release",
            "Release the hold",
            about="A deposit is held no longer for which a forgotten swap may have been paid.",
            question="Why was nothing paid for it",
        )
        part = Part("Hold", facts=_facts(one), forms=[form])
        crumbs = [("/recovery", "Recovery")]
        view = View(title=f"Retained hold {one['id']}", crumbs=crumbs, parts=[part])
        return self._layout.page(view, visitor, section="recovery")

    async def finish(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        content = await visitor.api.get(SETTLER, "/recovery")
        one = find_row(content["recoveries"], id=request.path_params["id"])
        if one["state"] != "open":
            raise HTTPException(404, "It has ended already.")
        draft = OrderDraft(
            service=SETTLER.value,
            path=f"/recovery/{one['id']}/finish",
            body={"reason": reason_of(fields)},
            title=f"End recovery {one['id']} before it is proven",
            facts=[
                ("Recovery", str(one["id"])),
                ("Cause", str(one["cause"])),
                ("Began", str(one["began_at"])),
                ("Held", str(one["held"])),
            ],
            back="/recovery",
            warning=FINISH_WARNING,
            seen=_seen_row("recoveries", one, "state"),
        )
        return self._orders.review(visitor, draft)

    async def release(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        content = await visitor.api.get(SETTLER, "/recovery")
        one = find_row(content.get("retained") or (), id=request.path_params["id"])
        shown = [(name, cell.text) for name, cell in _facts(one)]
        draft = OrderDraft(
            service=SETTLER.value,
            path=f"/recovery/retained/{one['id']}/release",
            body={"reason": reason_of(fields)},
            title=f"Release retained hold {one['id']}",
            facts=shown,
            back="/recovery",
            warning="What it held is paid at once.",
            seen=_seen_row("retained", one, "since"),
        )
        return self._orders.review(visitor, draft)


def _seen_row(rows: str, one: Mapping[str, Any], shown: str) -> SeenRow:
    return SeenRow(SETTLER.value, "/recovery", rows, {"id": one["id"]}, {shown: one[shown]})


def _recovery(one: Mapping[str, Any]) -> Part:
    is_open = one["state"] == "open"
    form = OrderForm(
        f"/recovery/{one['id']}/finish",
        "End the recovery",
        about=FINISH_WARNING,
        is_danger=True,
        question="Why can nothing be paid twice",
    )
    state = badge(one["state"], "bad" if is_open else "good")
    shown = {**dict(_facts(one)), label("state"): state, label("held"): _held_number(one["held"])}
    facts = [(label("state"), shown.pop(label("state"))), *shown.items()]
    return Part(f"Recovery {one['id']}", facts=facts, forms=[form] if is_open else ())


def _held_now(content: Mapping[str, Any]) -> Sequence[Part]:
    """Return the part with the number of held payments: something may be held without a recovery.

    The part of a recovery has the number, too. A settler of the previous release does not name it.
    """
    if content["recoveries"] or "held" not in content:
        return ()
    return [Part("Held now", facts=[("Payments", _held_number(content["held"]))])]


def _held_number(held: int) -> Cell:
    return replace(number(held), href="/recovery/held" if held else "")


def _held_cells(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    amount = plain("not calculated yet") if one["base_units"] is None else amount_of(units, one)
    return [
        moment(one["since"]),
        plain(label(one["kind"])),
        plain(one["network"]),
        replace(amount, href=swap_page(one["swap_id"])),
        swap_link(one["swap_id"]),
        deposit_link(one["deposit_id"]),
        code(one["app_id"]),
    ]


def _facts(one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    return [(label(name), _cell(name, value)) for name, value in one.items()]


def _table(rows: Sequence[Mapping[str, Any]], *, href: str = "") -> Table:
    names = list(rows[0])
    cells = [
        [
            Cell(f"#{row['id']}", href=f"{href}{row['id']}")
            if href and name == "id"
            else _cell(name, row.get(name))
            for name in names
        ]
        for row in rows
    ]
    return Table([label(name) for name in names], cells)


def _cell(name: str, value: Any) -> Cell:
    if isinstance(value, str) and (name.endswith("_at") or name == "since"):
        return moment(value)
    if isinstance(value, str) and name.endswith(CODES):
        return LINKS.get(name, code)(value)
    return document(value)
