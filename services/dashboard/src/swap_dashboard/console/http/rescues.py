"""Tokens outside the catalogue: what a transaction brought, and to whom it goes back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft
from swap_dashboard.console.http.approvals import list_proposals_of
from swap_dashboard.console.http.orders import CHANGED, OrderingPages, reason_of, require_field
from swap_dashboard.console.http.paging import before_of
from swap_dashboard.console.http.site import OrderFault
from swap_dashboard.console.http.units import read_units
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
    part_of,
    plain,
    url_with,
    whole,
)
from swap_dashboard.console.ports import OperatorApi, ServiceName

SETTLER: Final = ServiceName.SETTLER
ACTION: Final = "POST /rescues/{network}/{hash}"
HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")
PAGE_SIZE: Final = 50
WAITING: Final = ("Transaction", "Network", "Returned to", "Ordered by", "When", "Proposal")
# The page of a transaction has its tokens and amounts.
ORDERED: Final = ("Transaction", "Network", "Returned to", "By", "When", "Reason")
CALLS: Final = ("To", "Data")
ABOUT: Final = (
    "Tokens outside the catalogue are in no ledger. Two operators say to whom one goes, and the "
    "owner of the Treasury returns it."
)


class RescuePages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/rescues", self.list_all),
            Route("/rescues/find", self.search),
            Route("/rescues/{network}/{hash}", self.show),
            Route("/rescues/{network}/{hash}/order", self.order, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        query = {"limit": str(PAGE_SIZE + 1), **before_of(request)}
        content, proposals, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/rescues", query),
            list_proposals_of(visitor.api, SETTLER, ACTION),
            read_units(visitor.api),
        )
        found = content["rescues"]
        ordered = found[:PAGE_SIZE]
        # A settler of an earlier version answers the orders of every kind.
        waiting = [_proposal_row(one) for one in proposals.rows if one["action"] == ACTION]
        parts = [
            Part("Wait for a second operator", table=Table(WAITING, waiting, "No order waits.")),
            Part("Ordered", table=Table(ORDERED, [_row(one) for one in ordered], "None yet.")),
        ]
        view = View(
            title="Rescues",
            about=ABOUT,
            notices=proposals.notices,
            parts=parts,
            next_page=url_with("/rescues", before=ordered[-1]["id"])
            if len(found) > PAGE_SIZE
            else "",
        )
        return self._layout.page(
            view, visitor, section="rescues", name="rescues.html", networks=units.networks
        )

    async def search(self, request: Request) -> Response:
        self._visitors.require(request)
        network = request.query_params.get("network", "").strip()
        text = request.query_params.get("hash", "").strip()
        if not network or not HASH.fullmatch(text):
            raise OrderFault("A transaction is named by its network and its hash: 0x and 64 digits")
        return RedirectResponse(_href(network, text), status_code=303)

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        network, text = _transaction_of(request)
        transfers = await _list_transfers(visitor.api, network, text)
        parts = [
            part
            for number, one in enumerate(transfers, start=1)
            for part in _parts(one, f"Transfer {number} of {len(transfers)}")
        ]
        returnable = [one for one in transfers if _is_returnable(one)]
        if returnable:
            form = _form(_href(network, text), returnable)
            parts.append(Part("Return a transfer", forms=[form]))
        view = View(
            title="What a transaction brought",
            about=f"{text} on {network}",
            crumbs=[("/rescues", "Rescues")],
            parts=parts,
        )
        return self._layout.page(view, visitor, section="rescues")

    async def order(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        network, text = _transaction_of(request)
        transfers = await _list_transfers(visitor.api, network, text)
        to = require_field(fields, "to_address", "The address of its owner")
        wanted = require_field(fields, "transfer", "The token")
        chosen = [one for one in transfers if _is_returnable(one) and _return_key(one) == wanted]
        if not chosen:
            raise OrderFault(CHANGED)
        first = chosen[0]
        draft = OrderDraft(
            service=SETTLER.value,
            path=f"/rescues/{part_of(network)}/{text}",
            body={
                "to_address": to,
                "token": first["token"],
                "from_address": first["from"],
                "transfers": [_shown_transfer(one) for one in chosen],
                "reason": reason_of(fields),
            },
            title="Return a token that no catalogue knows",
            facts=[
                ("To", to),
                ("Token", str(first["token"])),
                ("Sent by", str(first["from"])),
                ("Base units", ", ".join(str(one["base_units"]) for one in chosen)),
                ("Returned until now", ", ".join(_returned_to(one) or "no" for one in chosen)),
                ("Network", network),
                ("Transaction", text),
            ],
            back=_href(network, text),
            warning="Anybody can make a token. Know whose it is before you order its return.",
        )
        return self._orders.review(visitor, draft)


async def _list_transfers(api: OperatorApi, network: str, text: str) -> Sequence[Mapping[str, Any]]:
    path = f"/rescues/{part_of(network)}/{text}"
    transfers: Sequence[Mapping[str, Any]] = (await api.get(SETTLER, path, is_slow=True))["came"]
    return transfers


def _transaction_of(request: Request) -> tuple[str, str]:
    """
    :raises HTTPException: when it is no transaction.
    """
    network, text = request.path_params["network"], request.path_params["hash"]
    if not HASH.fullmatch(text):
        raise HTTPException(404)
    return network, text.lower()


def _href(network: str, text: str) -> str:
    return f"/rescues/{part_of(network)}/{text.lower()}"


def _is_returnable(one: Mapping[str, Any]) -> bool:
    """Whether the token is outside every catalogue, and its transfer is final."""
    return one["symbol"] is None and bool(one["is_final"])


def _return_key(one: Mapping[str, Any]) -> str:
    """Return what an order returns: all that one sender sent of a token in the transaction."""
    return f"{one['token']} {one['from']}"


def _returned_to(one: Mapping[str, Any]) -> str | None:
    ordered = one["ordered"]
    return str(ordered[-1]["to"]) if ordered else None


def _shown_transfer(one: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "token": one["token"],
        "from_address": one["from"],
        "to_address": one["to"],
        "base_units": one["base_units"],
        "returned_to": _returned_to(one),
    }


def _proposal_row(one: Mapping[str, Any]) -> Sequence[Cell]:
    network, text = one["target"]["network"], one["target"]["hash"]
    return [
        code(text, _href(network, text)),
        plain(network),
        code(one["order"]["to_address"]),
        plain(one["proposed_by"]),
        moment(one["proposed_at"]),
        link("Open the proposal", f"/approvals/{one['service']}/{one['id']}"),
    ]


def _row(one: Mapping[str, Any]) -> Sequence[Cell]:
    return [
        code(one["transaction_hash"], _href(one["network"], one["transaction_hash"])),
        plain(one["network"]),
        code(one["returned_to"]),
        plain(one["by"]),
        moment(one["at"]),
        whole(one["reason"]),
    ]


def _parts(one: Mapping[str, Any], title: str) -> Sequence[Part]:
    is_known = one["symbol"] is not None
    facts = [
        ("Token", code(one["token"])),
        ("Catalogue", plain(one["symbol"]) if is_known else badge("does not know it", "warning")),
        ("Base units", plain(one["base_units"])),
        ("From", code(one["from"])),
        ("To", code(one["to"])),
        ("Final", plain("yes" if one["is_final"] else "no: wait until it is")),
        ("Held there now", plain(one["held_there"])),
        ("Recorded as", plain(one["recorded"])),
        ("Next", whole(one["act"])),
    ]
    for order in one["ordered"]:
        words = f"{order['to']}, by {order['by']}: {order['reason']}"
        facts.append(("Returned to", whole(words)))
    found = [Part(title, facts=facts)]
    if one["calls"]:
        calls = [[code(call["to"]), Cell(call["data"], "json")] for call in one["calls"]]
        about = "Sent by the owner of the Treasury, in turn."
        found.append(Part(f"Calls of {title.lower()}", about=about, table=Table(CALLS, calls)))
    return found


def _form(where: str, returnable: Sequence[Mapping[str, Any]]) -> OrderForm:
    names = dict.fromkeys(_return_key(one) for one in returnable)
    options = [(name, "{} from {}".format(*name.split(" ", 1))) for name in names]
    return OrderForm(
        f"{where}/order",
        "Return the transfer",
        fields=[
            Field("transfer", "Token and sender", kind="select", options=options),
            Field("to_address", "Address of its owner", placeholder="0x…"),
        ],
        about="A second operator approves. Nothing is sent: the calls are shown here then.",
        question="How is it known whose it is",
    )
