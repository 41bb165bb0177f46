"""One deposit, of a swap or of none, with what was booked about it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.units import Units
from swap_dashboard.console.http.layout import ConsolePages
from swap_dashboard.console.http.sign_in import to_id
from swap_dashboard.console.http.units import amount_of, read_units, token_of
from swap_dashboard.console.http.view import (
    Cell,
    Part,
    Table,
    View,
    code,
    deposit_state,
    label,
    link,
    moment,
    network_link,
    number,
    plain,
    swap_link,
    swap_page,
    whole,
)
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
CLAIMABLES: Final = ("claimables", ("/claimables", "Claimables"))  # section, and page above
CLAIMABLE: Final = ("claimable", "suspense")  # they have a page of their own
BALANCES: Final = ("Balance", "Kind", ">Amount", "Swap")
PAYMENTS: Final = ("Kind", "State", ">Amount", "To", "Transaction")
LEDGER_PART: Final = "#part-4"  # the postings that amounts are made of, on the same page
LEDGER: Final = ("When", "Entry", ">Block", "Account", ">Amount", "Swap")


class DepositPages(ConsolePages):
    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/deposits/{id}", self.show)]

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        id = to_id(request.path_params["id"])
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, f"/deposits/{id}"), read_units(visitor.api)
        )
        swap = content["deposit"]["swap_id"]
        none = "None. The page of the swap has its payments." if swap else "None."
        balances = [_balance(one, units) for one in content["balances"]]
        payments = [_payment(one, units) for one in content["payments"]]
        ledger = [_posting(one, units) for one in content["ledger"]]
        parts = [
            Part("Deposit", facts=_facts(content["deposit"], units)),
            Part("Balances", table=Table(BALANCES, balances, "No balance of its own.")),
            Part(
                "Payments of this deposit alone, without failed ones",
                table=Table(PAYMENTS, payments, none),
            ),
            Part("Ledger", table=Table(LEDGER, ledger, "Nothing is booked yet.")),
        ]
        section, crumb = ("", (swap_page(swap), "Swap")) if swap else CLAIMABLES
        view = View(title=f"Deposit {id}", crumbs=[crumb], parts=parts)
        return self._layout.page(view, visitor, section=section)


def _facts(one: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    returned = amount_of(units, one, "returned_base_units")
    facts = [
        ("State", deposit_state(one["state"])),
        ("Swap", swap_link(one["swap_id"])),
        ("Amount", replace(amount_of(units, one), href=LEDGER_PART)),
        ("Base units", plain(one["base_units"])),
        ("Goes back separately", replace(returned, href=LEDGER_PART)),
        ("Token", token_of(units, one)),
        ("Contract", code(one["token"])),
        ("Network", network_link(one["network"])),
        ("Method", plain(label(one["method"]))),
        ("Transaction", code(one["transaction_hash"])),
        ("Block", number(one["block_number"])),
        ("Block hash", code(one["block_hash"])),
        ("Mined", moment(one["block_time"])),
        ("Confirmations that it needs", number(one["confirmations_required"])),
        ("From", code(one["from_address"])),
        ("To", code(one["to_address"])),
        ("Sequence number", number(one["sequence_number"])),
        ("Memo", whole(one["memo"])),
        ("Received here", moment(one["heard_at"])),
    ]
    if one["quarantine_reason"]:
        facts.append(("Why it is quarantined", whole(one["quarantine_reason"])))
    if one["attached_at"]:
        facts += [
            ("Attached", moment(one["attached_at"])),
            ("By", plain(one["attached_by"])),
            ("Because", whole(one["attached_because"])),
        ]
    return facts


def _balance(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    href = f"/claimables/{one['id']}" if one["kind"] in CLAIMABLE else ""
    name = link(f"#{one['id']}", href)
    booked = replace(amount_of(units, one), href=LEDGER_PART)
    return [name, plain(label(one["kind"])), booked, swap_link(one["swap_id"])]


def _payment(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        plain(label(one["kind"])),
        plain(one["state"]),
        replace(amount_of(units, one), href=LEDGER_PART),
        code(one["to_address"]),
        code(one["transaction_hash"]),
    ]


def _posting(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        moment(one["at"]),
        plain(label(one["kind"])),
        number(one["effective_block"]),
        plain(label(one["account"])),
        amount_of(units, one),
        swap_link(one["swap_id"]),
    ]
