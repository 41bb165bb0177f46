"""The keys that payments are signed with, and halted ones resumed by an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft
from swap_dashboard.console.http.orders import OrderingPages, find_row, reason_of
from swap_dashboard.console.http.paging import next_page, page_query
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
    number,
    part_of,
    plain,
    seconds,
    swap_link,
    whole,
)
from swap_dashboard.console.ports import OperatorApi, ServiceName, ServiceRefused

SETTLER: Final = ServiceName.SETTLER
COLUMNS: Final = ("Network", "Signer", "State", ">Next nonce", ">Open", "Oldest open", "Reason")
NONCES: Final = ("Nonce", "Since", "Latest transaction", "Pays", "Swap")
OF_NONCES: Final = "#part-2"  # the second part of the page
USED_BY_LABEL: Final = "Transactions that were not signed here and used its nonces, one a line"


class SignerPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/signers", self.list_all),
            Route("/signers/{network}/{address}", self.show),
            Route("/signers/{network}/{address}/resume", self.resume, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(SETTLER, "/signers")
        rows = [_row(one) for one in content["signers"]]
        table = Table(COLUMNS, rows, "No signer has signed yet.")
        view = View(title="Signers", parts=[Part("Signers", table=table)])
        return self._layout.page(view, visitor, section="signers")

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        one = await self._find(request)
        forms = [_resume_form(one)] if one["halted"] else []
        parts = [
            Part("Signer", facts=_facts(one), forms=forms),
            *await _read_nonces(visitor.api, one, request),
        ]
        view = View(title="Signer", crumbs=[("/signers", "Signers")], parts=parts)
        return self._layout.page(view, visitor, section="signers")

    async def resume(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        one = await self._find(request)
        address, used_by = str(one["address"]), fields.get("used_by", "").split()
        body: dict[str, Any] = {
            "address": address,
            # The settler lifts no other halt than the one that the form showed.
            "halts": {address: fields.get("halt", "")},
            "reason": reason_of(fields),
        }
        if used_by:
            body["used_by"] = used_by
        draft = OrderDraft(
            service=SETTLER.value,
            path=f"/signers/{part_of(one['network'])}/resume",
            body=body,
            title=f"Resume a signer on {one['network']}",
            facts=[
                ("Signer", address),
                ("Why it was halted", fields.get("halt", "")),
                ("Nonces used by", ", ".join(used_by) or "nothing else"),
            ],
            back=_path(one),
            warning="It signs at once what waits for it.",
        )
        return self._orders.review(visitor, draft)

    async def _find(self, request: Request) -> Mapping[str, Any]:
        """
        :raises HTTPException: when there is no such signer.
        """
        content = await self._visitors.require(request).api.get(SETTLER, "/signers")
        path = request.path_params
        return find_row(content["signers"], network=path["network"], address=path["address"])


async def _read_nonces(
    api: OperatorApi, one: Mapping[str, Any], request: Request
) -> Sequence[Part]:
    """Return the part with the open nonces; none where a settler of the previous release runs.

    :raises ServiceRefused: for another reason than that it has no such list.
    """
    try:
        content = await api.get(SETTLER, f"{_path(one)}/nonces", page_query(request))
    except ServiceRefused as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return ()
    nonces = Table(NONCES, [_nonce(row) for row in content["nonces"]], "None is open.")
    return [Part("Open nonces", table=nonces, next_page=next_page(request, content))]


def _path(one: Mapping[str, Any]) -> str:
    return f"/signers/{part_of(one['network'])}/{part_of(one['address'])}"


def _row(one: Mapping[str, Any]) -> Sequence[Cell]:
    halted = one["halted"] or {}
    href = _path(one)
    return [
        link(one["network"], href),
        code(one["address"], href),
        badge("halted", "bad") if halted else badge("signs", "good"),
        number(one["next_nonce"]),
        _open_nonces(one),
        seconds(one["oldest_slot_seconds"]),
        whole(halted.get("reason")),
    ]


def _open_nonces(one: Mapping[str, Any]) -> Cell:
    """Return how many are open: their list is on the signer's page."""
    shown = number(one["open_slots"])
    return replace(shown, href=f"{_path(one)}{OF_NONCES}") if one["open_slots"] else shown


def _nonce(one: Mapping[str, Any]) -> Sequence[Cell]:
    return [
        number(one["nonce"]),
        moment(one["since"]),
        code(one["transaction_hash"]),
        plain(one["kind"]),
        swap_link(one["swap_id"]),
    ]


def _facts(one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    halted, resumed = one["halted"] or {}, one["resumed"] or {}
    return [
        ("Network", plain(one["network"])),
        ("Address", code(one["address"])),
        ("State", badge("halted", "bad") if halted else badge("signs", "good")),
        ("Why", whole(halted.get("reason"))),
        ("Halted", moment(halted.get("at"))),
        ("Next nonce", number(one["next_nonce"])),
        ("Open nonces", _open_nonces(one)),
        ("Oldest open", seconds(one["oldest_slot_seconds"])),
        ("Resumed last", moment(resumed.get("at"))),
        ("By", plain(resumed.get("by"))),
        ("Because", whole(resumed.get("reason"))),
        ("What it means", plain(one["means"])),
        ("Who must act", plain(one["act"])),
    ]


def _halt(halted: Mapping[str, Any]) -> str:
    """Return a halt as the settler names it: the same reason may halt a signer again."""
    return f"{halted['reason']} (since {halted['at']})"


def _resume_form(one: Mapping[str, Any]) -> OrderForm:
    fields = [
        Field("used_by", USED_BY_LABEL, kind="area", is_required=False, placeholder="0x…"),
        Field("halt", "", value=_halt(one["halted"]), kind="hidden"),
    ]
    return OrderForm(f"{_path(one)}/resume", "Resume", fields, question="Why is it safe to resume")
