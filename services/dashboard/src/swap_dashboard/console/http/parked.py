"""Messages that failed, with their bodies decoded; released or dropped by an order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft
from swap_dashboard.console.http.every_service import ServiceRows, gather_rows, service_of
from swap_dashboard.console.http.orders import OrderingPages, reason_of
from swap_dashboard.console.http.paging import PAGE_SIZE, page_query
from swap_dashboard.console.http.view import (
    Cell,
    OrderForm,
    Part,
    Table,
    View,
    badge,
    code,
    document,
    link,
    moment,
    plain,
    url_with,
    whole,
)
from swap_dashboard.console.ports import OperatorApi, ServiceName

TONES: Final = {"parked": "bad", "unverified": "bad", "releasing": "warning"}
OPEN_STATES: Final = ("parked", "unverified")
DROP_WARNING: Final = (
    "A dropped message is never applied. Never drop a revert of a deposit: docs/safeguards.md "
    "says what follows."
)
VERBS: Final = {"release": "Release", "drop": "Drop"}


async def list_parked(api: OperatorApi, query: Mapping[str, str] | None = None) -> ServiceRows:
    """Return the messages of all services, the oldest first.

    :param query: of a page of each service.
    """
    found = await gather_rows(api, "/parked", "parked", query=query)
    return replace(found, rows=sorted(found.rows, key=_list_position))


class ParkedPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/parked", self.list_all),
            Route("/parked/{service}/{id:int}", self.show),
            Route("/parked/{service}/{id:int}/{verb}", self.order, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        found = await list_parked(visitor.api, page_query(request))
        listed, is_cut = found.rows[:PAGE_SIZE], found.is_cut or len(found.rows) > PAGE_SIZE
        rows = [_row(one) for one in listed]
        columns = ("Message", "Service", "Topic", "Key", "State", "Since", "Reason")
        part = Part("Standing", table=Table(columns, rows, "No message waits for an operator."))
        view = View(
            title="Parked messages",
            about="Messages that failed. Later messages of the same key wait behind them.",
            notices=found.notices,
            parts=[part],
            next_page=_next_page(listed) if is_cut else "",
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="parked")

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        service, message = await _find(visitor.api, request)
        where = f"/parked/{service.value}/{message['id']}"
        parts = [
            Part("Message", facts=_facts(message, service), forms=_forms(where, message)),
            *_body(message),
        ]
        view = View(
            title=f"Parked message {message['id']}",
            crumbs=[("/parked", "Parked messages")],
            parts=parts,
        )
        return self._layout.page(view, visitor, section="parked")

    async def order(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        service, message = await _find(visitor.api, request)
        verb = request.path_params["verb"]
        if verb not in VERBS:
            raise HTTPException(404)
        draft = OrderDraft(
            service=service.value,
            path=f"/parked/{message['id']}/{verb}",
            body={"reason": reason_of(fields)},
            title=f"{VERBS[verb]} parked message {message['id']} of the {service.shown}",
            facts=[
                ("Topic", str(message["topic"])),
                ("Key", str(message["key"])),
                ("Message", str(message["message_id"])),
                ("Why it was parked", str(message["reason"])),
                ("State", str(message["state"])),
            ],
            back=f"/parked/{service.value}/{message['id']}",
            warning=DROP_WARNING if verb == "drop" else "",
        )
        return self._orders.review(visitor, draft)


async def _find(api: OperatorApi, request: Request) -> tuple[ServiceName, Mapping[str, Any]]:
    """
    :raises HTTPException: when there is no such service.
    """
    service = service_of(request.path_params["service"])
    if service is None:
        raise HTTPException(404)
    content = await api.get(service, f"/parked/{request.path_params['id']}")
    return service, content["parked"]


def _list_position(one: Mapping[str, Any]) -> tuple[datetime, int]:
    return datetime.fromisoformat(one["parked_at"]), one["id"]


def _next_page(listed: Sequence[Mapping[str, Any]]) -> str:
    """Return the address of the following page. Its place applies to the list of each service."""
    last = listed[-1]
    return url_with("/parked", after_at=last["parked_at"], after_id=last["id"])


def _row(one: Mapping[str, Any]) -> Sequence[Cell]:
    return [
        link(f"#{one['id']}", f"/parked/{one['service']}/{one['id']}"),
        plain(str(one["service"]).replace("_", "-")),
        plain(one["topic"]),
        code(one["key"]),
        badge(one["state"], TONES.get(one["state"], "quiet")),
        moment(one["parked_at"]),
        whole(one["reason"]),
    ]


def _facts(one: Mapping[str, Any], service: ServiceName) -> Sequence[tuple[str, Cell]]:
    behind = "yes: it follows when the message before it is released" if one["is_behind"] else "no"
    return [
        ("State", badge(one["state"], TONES.get(one["state"], "quiet"))),
        ("Why", whole(one["reason"])),
        ("Service", plain(service.shown)),
        ("Consumer", plain(one["consumer"])),
        ("Topic", plain(one["topic"])),
        ("Key", code(one["key"])),
        ("Message id", code(one["message_id"])),
        ("Partition and offset", plain(f"{one['partition']} / {one['offset']}")),
        ("Behind another", plain(behind)),
        ("Parked", moment(one["parked_at"])),
        ("Ended", moment(one["ended_at"])),
    ]


def _forms(where: str, message: Mapping[str, Any]) -> Sequence[OrderForm]:
    if message["state"] not in OPEN_STATES:
        return ()
    return (
        OrderForm(f"{where}/release", "Release", about="Apply it again, then what waits behind."),
        OrderForm(f"{where}/drop", "Drop", about=DROP_WARNING, is_danger=True),
    )


def _body(message: Mapping[str, Any]) -> Sequence[Part]:
    """Return the envelope and the payload; what is no JSON is shown as it came."""
    text = str(message["value"])
    try:
        content = json.loads(text)
    except ValueError:
        return [Part("Body", about="It is no JSON.", text=text)]
    if not isinstance(content, dict):
        return [Part("Body", text=json.dumps(content, indent=2, ensure_ascii=False))]
    inner = next((name for name in ("payload", "body") if isinstance(content.get(name), dict)), "")
    envelope = [(name, document(value)) for name, value in content.items() if name != inner]
    shown = content[inner] if inner else content
    payload = Part("Payload", text=json.dumps(shown, indent=2, ensure_ascii=False))
    return [Part("Envelope", facts=envelope), payload] if inner else [payload]
