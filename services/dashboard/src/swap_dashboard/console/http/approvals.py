"""Orders that wait for a second operator: shown whole, approved or rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OperatorSession, OrderDraft
from swap_dashboard.console.http.every_service import Gathered, gather_rows
from swap_dashboard.console.http.layout import Layout
from swap_dashboard.console.http.orders import Orders, find_row, reason_of
from swap_dashboard.console.http.view import (
    Cell,
    OrderForm,
    Part,
    Table,
    View,
    code,
    document,
    link,
    moment,
    plain,
)
from swap_dashboard.console.http.visitors import Visitors
from swap_dashboard.console.ports import OperatorApi, ServiceName

WITH_APPROVALS: Final = (ServiceName.SETTLER, ServiceName.CHAIN_WATCHER)
OWN: Final = "You ordered it: a different operator approves it. You can take it back."
VERBS: Final = {"approve": "Approve and carry out", "reject": "Reject"}


async def list_proposals(api: OperatorApi) -> Gathered:
    return await gather_rows(api, "/approvals", "approvals", of=WITH_APPROVALS)


class ApprovalPages:
    def __init__(self, layout: Layout, visitors: Visitors, orders: Orders) -> None:
        self._layout = layout
        self._visitors = visitors
        self._orders = orders

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/approvals", self.list_all),
            Route("/approvals/{service}/{id}", self.show),
            Route("/approvals/{service}/{id}/{verb}", self.order, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        found = await list_proposals(visitor.api)
        rows = [_row(one, visitor.session) for one in found.rows]
        columns = ("Order", "Why two", "Reason", "Ordered by", "When", "Ends")
        view = View(
            title="Approvals",
            about="Orders that put much at stake wait here until a different operator approves.",
            notices=found.notices,
            parts=[Part("Open", table=Table(columns, rows, "No order waits."))],
        )
        return self._layout.page(view, visitor, section="approvals")

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        one = await _find(visitor.api, request)
        where = f"/approvals/{one['service']}/{one['id']}"
        is_own = one["proposed_by"] == visitor.session.name
        order = Part(
            "What is ordered",
            facts=_facts(one),
            forms=_forms(where, is_own=is_own),
            about=OWN if is_own else "",
        )
        view = View(
            title=describe(one["action"]),
            crumbs=[("/approvals", "Approvals")],
            parts=[order],
        )
        return self._layout.page(view, visitor, section="approvals")

    async def order(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        one = await _find(visitor.api, request)
        verb = request.path_params["verb"]
        if verb not in VERBS:
            raise HTTPException(404)
        draft = OrderDraft(
            service=str(one["service"]),
            path=f"/approvals/{one['id']}/{verb}",
            body={"reason": reason_of(fields)},
            title=f"{VERBS[verb]}: {describe(one['action'])}",
            facts=[(name, _text(cell)) for name, cell in _facts(one)],
            back=f"/approvals/{one['service']}/{one['id']}",
            warning="It is carried out at once." if verb == "approve" else "",
        )
        return self._orders.review(visitor, draft)


async def _find(api: OperatorApi, request: Request) -> Mapping[str, Any]:
    """
    :raises HTTPException: when it is not open any more.
    """
    found = await list_proposals(api)
    service, id = request.path_params["service"], request.path_params["id"]
    return find_row(found.rows, service=service, id=id)


def describe(action: str) -> str:
    """Return an order's route as words: `POST /claimable/{id}/pay` is `claimable pay`."""
    path = action.partition(" ")[2] or action
    return " ".join(part for part in path.split("/") if part and not part.startswith("{"))


def _row(one: Mapping[str, Any], session: OperatorSession) -> Sequence[Cell]:
    own = " (you)" if one["proposed_by"] == session.name else ""
    return [
        link(describe(one["action"]), f"/approvals/{one['service']}/{one['id']}"),
        plain(one["why"]),
        plain(one["reason"]),
        plain(f"{one['proposed_by']}{own}"),
        moment(one["proposed_at"]),
        moment(one["expires_at"]),
    ]


def _facts(one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    target = [(name, document(value)) for name, value in one["target"].items()]
    body = [
        (name, document(value))
        for name, value in one["order"].items()
        if name not in ("reason", "by") and value is not None
    ]
    return [
        ("Order", plain(one["action"])),
        *target,
        *body,
        ("Reason", plain(one["reason"])),
        ("Why two operators", plain(one["why"])),
        ("Ordered by", plain(one["proposed_by"])),
        ("Ordered", moment(one["proposed_at"])),
        ("Ends", moment(one["expires_at"])),
        ("Proposal", code(one["id"])),
        ("Service", plain(one["service"].replace("_", "-"))),
    ]


def _text(cell: Cell) -> str:
    return json.dumps(json.loads(cell.text)) if cell.kind == "json" else cell.text


def _forms(where: str, *, is_own: bool) -> Sequence[OrderForm]:
    reject = OrderForm(f"{where}/reject", "Take back" if is_own else "Reject", is_danger=True)
    if is_own:
        return (reject,)
    question = "How did you check it"
    return (OrderForm(f"{where}/approve", "Approve", question=question), reject)
