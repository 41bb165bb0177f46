"""Payments held by a cap, what is owed to partners, and orders about single transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from swap_dashboard.console.http.paging import next_page, page_query, place_in_address
from swap_dashboard.console.http.sign_in import to_id
from swap_dashboard.console.http.units import amount_of, read_units, reason_of_queued, token_of
from swap_dashboard.console.http.view import (
    Cell,
    Field,
    OrderForm,
    Part,
    Table,
    View,
    badge,
    code,
    link,
    moment,
    plain,
    swap_link,
    whole,
)
from swap_dashboard.console.http.visitors import Visitor
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
QUEUE: Final = ("Payment", "Kind", "Network", ">Amount", "Swap", "Since", "Why it waits")
# Each list of the page has a place of its own in the address.
OF_QUEUE: Final = "queue_"
OF_FEES: Final = "fees_"
FEES: Final = ("Fee", "App", "Network", ">Owed")


class PaymentPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/payments", self.list_all),
            Route("/payments/explain", self.reconcile, methods=["POST"]),
            Route("/payments/sweep", self.sweep, methods=["POST"]),
            Route("/payments/queue/{id}", self.show_queued),
            Route("/payments/queue/{id}/pass", self.let_pass, methods=["POST"]),
            Route("/payments/fees/{id:int}", self.show_fee),
            Route("/payments/fees/{id:int}/pay", self.pay_fee, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        api = visitor.api
        queue, fees, units = await asyncio.gather(
            api.get(SETTLER, "/payouts/queue", page_query(request, prefix=OF_QUEUE)),
            api.get(SETTLER, "/fees", page_query(request, prefix=OF_FEES)),
            read_units(api),
        )
        queued = [_queued_cells(one, units) for one in queue["waiting"]]
        owed = [_fee(one, units) for one in fees["fees"]]
        parts = [
            Part(
                "Held by a cap",
                table=Table(QUEUE, queued, "No payment waits for a cap."),
                next_page=next_page(
                    request, queue, prefix=OF_QUEUE, others=place_in_address(request, OF_FEES)
                ),
            ),
            Part(
                "Owed to partners",
                table=Table(FEES, owed, "Nothing is owed."),
                next_page=next_page(
                    request, fees, prefix=OF_FEES, others=place_in_address(request, OF_QUEUE)
                ),
            ),
            Part("Orders about a transaction or an address", forms=_order_forms(units.networks)),
        ]
        view = View(title="Payments", parts=parts)
        return self._layout.page(view, visitor, section="payments")

    async def show_queued(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        one, units = await _find_queued(request, visitor)
        form = OrderForm(
            f"/payments/queue/{one['intent_id']}/pass",
            "Let the payment pass",
            about="It leaves although its caps have no room for it, and counts under them.",
        )
        part = Part("Payment", facts=_queue_facts(one, units), forms=[form])
        view = View(title="Payment", crumbs=[("/payments", "Payments")], parts=[part])
        return self._layout.page(view, visitor, section="payments")

    async def let_pass(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        one, units = await _find_queued(request, visitor)
        amount = units.amount(one["network"], one["token"], one["base_units"])
        draft = OrderDraft(
            service=SETTLER.value,
            path=f"/payouts/queue/{one['intent_id']}/pass",
            body={"reason": reason_of(fields)},
            title="Let a payment pass its caps",
            facts=[
                ("Payment", str(one["intent_id"])),
                ("Kind", str(one["kind"])),
                ("Amount", str(amount)),
                ("Network", str(one["network"])),
                ("Why it waits", reason_of_queued(units, one)),
            ],
            back=f"/payments/queue/{one['intent_id']}",
        )
        return self._orders.review(visitor, draft)

    async def show_fee(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        one, units = await _find_fee(request, visitor)
        where = f"/payments/fees/{one['id']}"
        base_units = Field("base_units", "", value=str(one["base_units"]), kind="hidden")
        form = OrderForm(
            f"{where}/pay",
            "Pay the fee",
            fields=[Field("to_address", "Address of the partner", placeholder="0x…"), base_units],
            about="All that is owed to the app in this token is paid.",
            question="How is the address known",
        )
        part = Part("Partner's fee", facts=_fee_facts(one, units), forms=[form])
        view = View(title=f"Fee {one['id']}", crumbs=[("/payments", "Payments")], parts=[part])
        return self._layout.page(view, visitor, section="payments")

    async def pay_fee(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        one, units = await _find_fee(request, visitor)
        to = require_field(fields, "to_address", "The address of the partner")
        base_units = require_same(fields, one, "base_units")
        draft = OrderDraft(
            service=SETTLER.value,
            path=f"/fees/{one['id']}/pay",
            body={"to_address": to, "base_units": base_units, "reason": reason_of(fields)},
            title="Pay a partner's fee",
            facts=[
                ("To", to),
                ("Amount", str(units.amount(one["network"], one["token"], base_units))),
                ("Network", str(one["network"])),
                ("App", str(one["app_id"])),
            ],
            back=f"/payments/fees/{one['id']}",
        )
        return self._orders.review(visitor, draft)

    async def reconcile(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        network = require_field(fields, "network", "The network")
        hash = require_field(fields, "transaction_hash", "The transaction")
        draft = OrderDraft(
            service=SETTLER.value,
            path="/payouts/explain",
            body={"network": network, "transaction_hash": hash, "reason": reason_of(fields)},
            title="Explain a payment that was not signed here",
            facts=[("Network", network), ("Transaction", hash)],
            back="/payments",
            warning="The settler asks the nodes for the proof, and ends what the transaction paid.",
        )
        return self._orders.review(visitor, draft)

    async def sweep(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        network = require_field(fields, "network", "The network")
        address = require_field(fields, "address", "The deposit address")
        token = require_field(fields, "token", "The token")
        draft = OrderDraft(
            service=SETTLER.value,
            path="/sweeps",
            body={
                "network": network,
                "address": address,
                "token": token,
                "reason": reason_of(fields),
            },
            title="Sweep a token that belongs to no swap",
            facts=[("Network", network), ("Deposit address", address), ("Token", token)],
            back="/payments",
        )
        return self._orders.review(visitor, draft)


async def _find_queued(request: Request, visitor: Visitor) -> tuple[Mapping[str, Any], Units]:
    """
    :raises HTTPException: when the address has no id.
    :raises ServiceRefused: when the payment waits no more.
    """
    path = f"/payouts/queue/{to_id(request.path_params['id'])}"
    content, units = await asyncio.gather(visitor.api.get(SETTLER, path), read_units(visitor.api))
    return content["waiting"], units


async def _find_fee(request: Request, visitor: Visitor) -> tuple[Mapping[str, Any], Units]:
    """
    :raises ServiceRefused: when nothing is owed any more.
    """
    path = f"/fees/{request.path_params['id']}"
    content, units = await asyncio.gather(visitor.api.get(SETTLER, path), read_units(visitor.api))
    return content["fee"], units


def _queued_cells(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    state = (
        badge("let through", "good")
        if one["is_let_through"]
        else whole(reason_of_queued(units, one))
    )
    return [
        code(one["intent_id"], f"/payments/queue/{one['intent_id']}"),
        plain(one["kind"]),
        plain(one["network"]),
        replace(amount_of(units, one), href=f"/payments/queue/{one['intent_id']}"),
        swap_link(one["swap_id"]),
        moment(one["since"]),
        state,
    ]


def _queue_facts(one: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    return [
        ("Payment", code(one["intent_id"])),
        ("Kind", plain(one["kind"])),
        ("Network", plain(one["network"])),
        ("Token", token_of(units, one)),
        ("Amount", amount_of(units, one)),
        ("Swap", swap_link(one["swap_id"])),
        ("Waits since", moment(one["since"])),
        ("Why it waits", whole(reason_of_queued(units, one))),
    ]


def _fee(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    return [
        link(f"#{one['id']}", f"/payments/fees/{one['id']}"),
        code(one["app_id"]),
        plain(one["network"]),
        replace(amount_of(units, one), href=f"/payments/fees/{one['id']}"),
    ]


def _fee_facts(one: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    return [
        ("App", code(one["app_id"])),
        ("Network", plain(one["network"])),
        ("Token", token_of(units, one)),
        ("Owed", amount_of(units, one)),
        ("Base units", plain(one["base_units"])),
    ]


def _order_forms(networks: Sequence[str]) -> Sequence[OrderForm]:
    where = Field("network", "Network", kind="select", options=[(name, name) for name in networks])
    reconcile = OrderForm(
        "/payments/explain",
        "Explain the transaction",
        fields=[where, Field("transaction_hash", "Transaction", placeholder="0x…")],
        about="A final transaction that paid what the settler was to pay.",
        question="What happened",
    )
    sweep = OrderForm(
        "/payments/sweep",
        "Sweep the address",
        fields=[
            where,
            Field("address", "Deposit address", placeholder="0x…"),
            Field("token", "Token", placeholder="Symbol or address"),
        ],
        about="A token that belongs to no swap, so that its owner can be paid.",
        question="Why is it worth its gas",
    )
    return (reconcile, sweep)
