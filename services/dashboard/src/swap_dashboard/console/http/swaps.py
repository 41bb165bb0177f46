"""Stuck swaps, and one swap with all of the settler's data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.units import Units, to_dollars
from swap_dashboard.console.http.layout import ConsolePages
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.sign_in import to_id
from swap_dashboard.console.http.units import amount_of, read_units, reason_of_queued, token_of
from swap_dashboard.console.http.view import (
    Cell,
    Part,
    Table,
    View,
    code,
    deposit_link,
    deposit_state,
    label,
    link,
    moment,
    network_link,
    number,
    part_of,
    plain,
    swap_link,
    whole,
)
from swap_dashboard.console.ports import OperatorApi, ServiceName, ServiceRefused

SETTLER: Final = ServiceName.SETTLER
LEDGER_PART: Final = "#part-7"  # the postings that amounts are made of, on the same page
CHANGES: Final = ("When", "From", "To", "Cause")
DEPOSITS: Final = ("Deposit", "State", ">Amount", ">Goes back", "From", "Transaction", "Mined")
PAYMENTS: Final = (
    "Payment", "Kind", "State", "Network", ">Amount", "To", "Transaction", "Note"
)  # fmt: skip
COSTS: Final = ("Payment", ">Charged", ">Worth", "Created", "Due", ">Block", "Final")
ATTEMPTS: Final = (
    "Payment", "Signer", ">Nonce", "Transaction", "Purpose", "Signed", "Sent", "Closed"
)  # fmt: skip
LEDGER: Final = ("When", "Entry", ">Block", "Account", "Network", ">Amount", "Deposit")
BALANCES: Final = ("Account", "Network", ">Balance", "Deposit")
ELSEWHERE: Final = ("When", "Outcome", ">Amount", "To", "Transaction", "Explained by", "Because")
PURPOSES: Final = {True: "cancels the nonce", False: "pays"}  # none before it is signed
# Payments that the swap is charged for in its source token.
PAID_AT_DESTINATION: Final = ("output", "refuel")


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
        id = to_id(
            request.query_params.get("id", "").strip(),
            otherwise="A swap is found by its whole id, as in the answer that created it.",
        )
        return RedirectResponse(f"/swaps/{id}", status_code=303)

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        id = to_id(request.path_params["id"])
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, f"/swaps/{id}"), read_units(visitor.api)
        )
        waiting = await _find_waiting(visitor.api, content["intents"])
        reasons = {id: reason_of_queued(units, one) for id, one in waiting.items()}
        view = View(title=f"Swap {id}", parts=to_parts(content, units, reasons))
        return self._layout.page(view, visitor, section="")


async def _find_waiting(
    api: OperatorApi, payments: Sequence[Mapping[str, Any]]
) -> Mapping[str, Mapping[str, Any]]:
    """Return, by their ids, the payments that a cap holds, as its queue has them."""
    ids = [one["id"] for one in payments if one["state"] == "reserved"]
    found = await asyncio.gather(*(_find_queued(api, id) for id in ids))
    return {id: one for id, one in zip(ids, found, strict=True) if one}


async def _find_queued(api: OperatorApi, id: str) -> Mapping[str, Any] | None:
    try:
        content = await api.get(SETTLER, f"/payouts/queue/{id}")
    except ServiceRefused as refused:
        if refused.status != HTTPStatus.NOT_FOUND:
            raise
        return None
    queued: Mapping[str, Any] = content["waiting"]
    return queued


def to_parts(
    content: Mapping[str, Any], units: Units, reasons: Mapping[str, str]
) -> Sequence[Part]:
    """Return the parts of a swap's page. Amounts lead to the ledger, which is the seventh.

    :param reasons: why payments wait for a cap, by their ids.
    """
    swap = content["swap"]
    tables = [
        ("Changes", CHANGES, [_change(one) for one in content["transitions"]]),
        ("Deposits", DEPOSITS, [_deposit(one, units) for one in content["deposits"]]),
        ("Payments", PAYMENTS, [_payment(one, units, reasons) for one in content["intents"]]),
        (
            "Charges and times of payments",
            COSTS,
            [_cost(one, swap, units) for one in content["intents"]],
        ),
        ("Transactions of payments", ATTEMPTS, [_attempt(one) for one in content["attempts"]]),
        ("Ledger", LEDGER, [_posting(one, units) for one in content["ledger"]]),
        ("Balances", BALANCES, [_balance(one, units) for one in content["balances"]]),
        (
            "Payments made elsewhere",
            ELSEWHERE,
            [_elsewhere(one, units) for one in content["taken"]],
        ),
    ]
    return [
        Part("Swap", facts=_facts(swap, units)),
        *(Part(title, table=Table(heads, rows, "None.")) for title, heads, rows in tables),
        Part("Details", facts=_details(swap, units)),
        Part("Quote", text=json.dumps(swap["quote"], indent=2, ensure_ascii=False)),
    ]


def _facts(swap: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    """Return what an operator reads first."""
    requested = {**_side(swap, "source"), "base_units": swap["requested_base_units"]}
    paid_out = {**_side(swap, "destination"), "base_units": swap["payout_base_units"]}
    facts = [
        ("Status", Cell(swap["status"], "status")),
        ("Since", moment(swap["changed_at"])),
        ("Requested", _booked_cell(units, requested)),
        ("From", network_link(swap["source_network"])),
        ("Pays out", _booked_cell(units, paid_out)),
        ("To", network_link(swap["destination_network"])),
        ("Recipient", code(swap["destination_address"])),
        ("Refund address", code(swap["refund_address"])),
    ]
    if swap["fail_reason"]:
        facts.insert(2, ("Why it failed", plain(label(swap["fail_reason"]))))
    return facts


def _details(swap: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    source = _side(swap, "source")
    return [
        ("Method", plain(label(swap["method"]))),
        ("Fee", _booked_cell(units, {**source, "base_units": swap["fee_base_units"]})),
        ("Token", token_of(units, source)),
        ("Token paid out", token_of(units, _side(swap, "destination"))),
        ("Source address", code(swap["source_address"])),
        ("App", code(swap["app_id"])),
        ("Reference of the partner", whole(swap["reference_id"])),
        ("Created", moment(swap["created_at"])),
        ("Expires", moment(swap["expires_at"])),
        ("Ended", moment(swap["closed_at"])),
        ("Quote valid until", moment(swap["quote_expires_at"])),
        ("Quoted again", number(swap["quote_revision"])),
        ("Last quoted again", moment(swap["last_requoted_at"])),
        ("Quote locked", moment(swap["quote_locked_at"])),
        ("Number", number(swap["sequence_number"])),
        ("Match key", whole(swap["match_key"])),
        ("Trace", code(swap["trace_id"])),
    ]


def _side(swap: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    return {"network": swap[f"{side}_network"], "token": swap[f"{side}_token"]}


def _booked_cell(units: Units, row: Mapping[str, Any], name: str = "base_units") -> Cell:
    """Return an amount that leads to its postings."""
    return replace(amount_of(units, row, name), href=LEDGER_PART)


def _change(one: Mapping[str, Any]) -> Sequence[Cell]:
    before = one["from_status"]
    return [
        moment(one["at"]),
        Cell(before, "status") if before else plain(None),
        Cell(one["to_status"], "status"),
        # A settler of the release before names no causes.
        plain(label(one.get("cause") or "")),
    ]


def _deposit(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        deposit_link(one["id"]),
        deposit_state(one["state"]),
        _booked_cell(units, one),
        _booked_cell(units, one, "returned_base_units"),
        code(one["from_address"]),
        code(one["transaction_hash"]),
        moment(one["block_time"]),
    ]


def _payment(one: Mapping[str, Any], units: Units, reasons: Mapping[str, str]) -> Sequence[Cell]:
    return [
        code(one["id"]),
        plain(label(one["kind"])),
        plain(one["state"]),
        network_link(one["network"]),
        _booked_cell(units, one),
        code(one["to_address"]),
        code(one["transaction_hash"]),
        _note(one, reasons.get(one["id"])),
    ]


def _note(one: Mapping[str, Any], reason: str | None) -> Cell:
    """Return what explains a payment: why it waits, who ordered it, how often and why it failed."""
    facts = [
        reason,
        one["ordered_by"] and f"ordered by {one['ordered_by']}: {one['ordered_because']}",
        one["failures"] and f"{one['failures']} failed",
        one["dead_proof"] and f"proof: {json.dumps(one['dead_proof'], ensure_ascii=False)}",
    ]
    text = "; ".join(fact for fact in facts if fact)
    return link(text, f"/payments/queue/{one['id']}") if reason else whole(text)


def _cost(one: Mapping[str, Any], swap: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    is_charged_at_source = one["kind"] in PAID_AT_DESTINATION
    charged = {**one, **_side(swap, "source")} if is_charged_at_source else one
    micros = one["usd_micros"]  # none where no price was known
    return [
        code(one["id"]),
        _booked_cell(units, charged, "charged_base_units"),
        number(None if micros is None else to_dollars(micros)),
        moment(one["created_at"]),
        moment(one["due_at"]),
        number(one["block_number"]),
        moment(one["confirmed_at"]),
    ]


def _attempt(one: Mapping[str, Any]) -> Sequence[Cell]:
    where = f"/signers/{part_of(one['network'])}/{part_of(one['signer'])}"
    return [
        code(one["intent_id"]),
        code(one["signer"], where),
        number(one["nonce"]),
        code(one["transaction_hash"]),
        plain(PURPOSES.get(one["is_cancel"])),
        moment(one["signed_at"]),
        moment(one["first_sent_at"]),
        moment(one["closed_at"]),
    ]


def _posting(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        moment(one["at"]),
        plain(label(one["kind"])),
        number(one["effective_block"]),
        plain(label(one["account"])),
        network_link(one["network"]),
        amount_of(units, one),
        deposit_link(one["deposit_id"]),
    ]


def _balance(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        plain(label(one["kind"])),
        network_link(one["network"]),
        _booked_cell(units, one, "balance"),
        deposit_link(one["deposit_id"]),
    ]


def _elsewhere(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        moment(one["at"]),
        plain(one["outcome"]),
        _booked_cell(units, one),
        code(one["to_address"]),
        code(one["transaction_hash"]),
        plain(one["named_by"]),
        whole(one["named_because"]),
    ]
