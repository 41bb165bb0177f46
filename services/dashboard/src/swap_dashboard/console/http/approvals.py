"""Orders that wait for a second operator: shown whole, approved or rejected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OperatorSession, OrderDraft
from swap_dashboard.console.http.every_service import ServiceRows, gather_rows, service_of
from swap_dashboard.console.http.orders import OrderingPages, reason_of
from swap_dashboard.console.http.sign_in import to_id
from swap_dashboard.console.http.units import read_units
from swap_dashboard.console.http.view import (
    Cell,
    OrderForm,
    Part,
    Table,
    View,
    badge,
    code,
    document,
    label,
    link,
    moment,
    part_of,
    plain,
    route,
    url_with,
    whole,
)
from swap_dashboard.console.ports import OperatorApi, ServiceName, ServiceRefused

WITH_APPROVALS: Final = (ServiceName.SETTLER, ServiceName.CHAIN_WATCHER, ServiceName.DASHBOARD)
PAGE_SIZE: Final = 50
COUNTED_MAX: Final = 500
OWN_ORDER: Final = "You ordered it: a different operator approves it. You can take it back."
MISSING_ROW: Final = "not there any more: the order would be refused"
TITLES: Final = {
    "POST /claimable/{id}/pay": "Pay a claimable balance",
    "POST /claimable/{id}/attach": "Attach a balance to a swap",
    "POST /fees/{id}/pay": "Pay a partner's fee",
    "POST /payouts/go": "Lift a stop",
    "POST /payouts/queue/{id}/pass": "Let a payment pass its caps",
    "POST /caps": "Set a cap",
    "POST /caps/lift": "Lift a cap",
    "POST /blocked/lift": "Let addresses go",
    "POST /signers/{network}/resume": "Resume signers",
    "POST /networks/{network}/resume": "Resume a network",
    "POST /recovery/{id}/finish": "End a recovery",
    "POST /recovery/retained/{id}/release": "Release a retained hold",
    "POST /rescues/{network}/{hash}": "Return an unknown token",
    "POST /second-factors/remove": "Remove a member's second factor",
}
# Where the amount stands that an order names by an id.
AMOUNTS: Final = {
    "POST /claimable/{id}/pay": ("/claimable", "claimable"),
    "POST /claimable/{id}/attach": ("/claimable", "claimable"),
    "POST /fees/{id}/pay": ("/fees", "fee"),
    "POST /payouts/queue/{id}/pass": ("/payouts/queue", "waiting"),
}
VERBS: Final = {"approve": "Approve and carry out", "reject": "Reject"}
TONES: Final = {"open": "warning", "approved": "good", "rejected": "bad"}
NOT_SHOWN: Final = frozenset({"reason", "by"})


async def list_proposals(
    api: OperatorApi, *, after_at: str = "", after_id: str = "", limit: int = COUNTED_MAX
) -> ServiceRows:
    """Return what waits for a second operator in any service, the oldest first.

    :param limit: how many of each service.
    """
    query = {"limit": str(limit)}
    if after_at and after_id:
        query |= {"after_at": after_at, "after_id": after_id}
    found = await gather_rows(api, "/approvals", "approvals", of=WITH_APPROVALS, query=query)
    return replace(found, rows=sorted(found.rows, key=_list_position))


async def list_proposals_of(api: OperatorApi, service: ServiceName, action: str) -> ServiceRows:
    """Return what one service's order waits for, the oldest first."""
    query = {"limit": str(COUNTED_MAX), "action": action}
    return await gather_rows(api, "/approvals", "approvals", of=[service], query=query)


class ApprovalPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/approvals", self.list_all),
            Route("/approvals/{service}/{id}", self.show),
            Route("/approvals/{service}/{id}/{verb}", self.order, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        query = request.query_params
        position = {name: query.get(name, "") for name in ("after_at", "after_id")}
        found = await list_proposals(visitor.api, **position, limit=PAGE_SIZE + 1)
        listed = found.rows[:PAGE_SIZE]
        rows = [_row(one, visitor.session) for one in listed]
        columns = ("Order", "What", "Reason", "Ordered by", "When", "Ends")
        view = View(
            title="Approvals",
            about="Orders that put much at stake wait here until a different operator approves.",
            notices=found.notices,
            parts=[Part("Open", table=Table(columns, rows, "No order waits."))],
            next_page=_next_page(listed) if len(found.rows) > PAGE_SIZE else "",
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="approvals")

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        one = await _find(visitor.api, request)
        where = f"/approvals/{one['service']}/{one['id']}"
        is_open = one["state"] == "open"
        is_own = is_open and one["proposed_by"] == visitor.session.name
        order = Part(
            "What is ordered",
            facts=[_state(one), *await _amount(visitor.api, one), *_facts(one)],
            forms=_forms(where, is_own=is_own) if is_open else (),
            about=OWN_ORDER if is_own else "",
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
        facts = [*await _amount(visitor.api, one), *_facts(one)]
        draft = OrderDraft(
            service=str(one["service"]),
            path=f"/approvals/{one['id']}/{verb}",
            body={"reason": reason_of(fields)},
            title=f"{VERBS[verb]}: {describe(one['action'])}",
            facts=[(name, _text(cell)) for name, cell in facts],
            back=f"/approvals/{one['service']}/{one['id']}",
            warning="It is carried out at once." if verb == "approve" else "",
        )
        return self._orders.review(visitor, draft)


async def _find(api: OperatorApi, request: Request) -> Mapping[str, Any]:
    """Return one, whatever became of it.

    :raises HTTPException: when there is no such service.
    """
    service = service_of(request.path_params["service"])
    if service not in WITH_APPROVALS:
        raise HTTPException(404)
    content = await api.get(service, f"/approvals/{to_id(request.path_params['id'])}")
    return {"service": service.value, **content["approval"]}


def _list_position(one: Mapping[str, Any]) -> tuple[datetime, str]:
    return datetime.fromisoformat(one["proposed_at"]), str(one["id"])


def _next_page(listed: Sequence[Mapping[str, Any]]) -> str:
    """Return where the list goes on. The place counts in every service."""
    last = listed[-1]
    return url_with("/approvals", after_at=last["proposed_at"], after_id=last["id"])


def describe(action: str) -> str:
    """Return an order's route as words."""
    if action in TITLES:
        return TITLES[action]
    path = action.partition(" ")[2] or action
    return " ".join(part for part in path.split("/") if part and not part.startswith("{"))


def _row(one: Mapping[str, Any], session: OperatorSession) -> Sequence[Cell]:
    own = " (you)" if one["proposed_by"] == session.name else ""
    return [
        link(describe(one["action"]), f"/approvals/{one['service']}/{one['id']}"),
        document({**one["target"], **_order_fields(one)}),
        whole(one["reason"]),
        plain(f"{one['proposed_by']}{own}"),
        moment(one["proposed_at"]),
        moment(one["expires_at"]),
    ]


async def _amount(api: OperatorApi, one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    """Return the amount of now that an order is about, where it names it by an id alone.

    :raises ServiceRefused: for another reason than that nothing is there any more.
    """
    found = AMOUNTS.get(one["action"])
    if found is None or one["state"] != "open":
        return ()
    list_path, name = found
    path = f"{list_path}/{part_of(one['target'].get('id'))}"
    try:
        content, units = await asyncio.gather(api.get(ServiceName.SETTLER, path), read_units(api))
    except ServiceRefused as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return [("Amount", plain(MISSING_ROW))]
    row = content[name]
    shown = units.amount(row["network"], row["token"], row["base_units"])
    return [("Amount", plain(shown)), ("On", plain(row["network"])), ("Token", code(row["token"]))]


def _state(one: Mapping[str, Any]) -> tuple[str, Cell]:
    ended = f"{one['state']} by {one['ended_by']}" if one["ended_by"] else one["state"]
    return "State", badge(ended, TONES.get(one["state"], "quiet"))


def _facts(one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    target = [(label(name), _value(name, value)) for name, value in one["target"].items()]
    body = [(label(name), _value(name, value)) for name, value in _order_fields(one).items()]
    return [
        ("Order", route(one["action"])),
        *target,
        *body,
        ("Reason", whole(one["reason"])),
        ("Why two operators", whole(one["why"])),
        ("Ordered by", plain(one["proposed_by"])),
        ("Ordered", moment(one["proposed_at"])),
        ("Ends", moment(one["expires_at"])),
        ("Proposal", code(one["id"])),
        ("Service", plain(one["service"].replace("_", "-"))),
    ]


def _value(name: str, value: Any) -> Cell:
    return moment(value) if name.endswith("_at") and value else document(value)


def _order_fields(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the order says, without what has a place of its own."""
    return {
        name: value
        for name, value in one["order"].items()
        if name not in NOT_SHOWN and value is not None
    }


def _text(cell: Cell) -> str:
    return json.dumps(json.loads(cell.text)) if cell.kind == "json" else cell.text


def _forms(where: str, *, is_own: bool) -> Sequence[OrderForm]:
    reject = OrderForm(f"{where}/reject", "Take back" if is_own else "Reject", is_danger=True)
    if is_own:
        return (reject,)
    question = "How did you check it"
    return (OrderForm(f"{where}/approve", "Approve", question=question), reject)
