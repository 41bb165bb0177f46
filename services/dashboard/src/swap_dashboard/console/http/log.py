"""The log of what operators ordered, of all services."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.http.every_service import ServiceRows, gather_rows, service_of
from swap_dashboard.console.http.layout import ConsolePages
from swap_dashboard.console.http.paging import before_of
from swap_dashboard.console.http.view import (
    Cell,
    Part,
    Table,
    View,
    moment,
    plain,
    route,
    url_with,
    whole,
)
from swap_dashboard.console.ports import OperatorApi, ServiceName

EACH_MAX: Final = 50
OPERATOR: Final = "operator"  # the role of most who order; a service has another
COLUMNS: Final = ("When", "Operator", "Order", "Outcome", "Reason", "Parameters")
TONES: Final = {"done": "good", "refused": "bad", "proposed": "warning", "failed": "bad"}


class LogPages(ConsolePages):
    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/log", self.show)]

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        service = service_of(request.query_params.get("service", ""))
        found = await _read(visitor.api, service, before_of(request))
        newest = sorted(found.rows, key=lambda row: str(row["at"]), reverse=True)
        table = Table(COLUMNS, [_row(one) for one in newest[:EACH_MAX]], "Nothing was ordered yet.")
        view = View(
            title="Log of orders",
            about="The newest of all services. Choose one for its whole history.",
            notices=found.notices,
            parts=[Part("Orders", table=table)],
            next_page=_next_page(service, newest),
        )
        return self._layout.page(
            view,
            visitor,
            section="log",
            name="log.html",
            services=visitor.api.services,
            chosen=service,
        )


async def _read(
    api: OperatorApi, service: ServiceName | None, before: Mapping[str, str]
) -> ServiceRows:
    query = {"limit": str(EACH_MAX)}
    if service is None:
        return await gather_rows(api, "/audit", "orders", query=query)
    return await gather_rows(api, "/audit", "orders", of=[service], query={**query, **before})


def _next_page(service: ServiceName | None, rows: Sequence[Mapping[str, Any]]) -> str:
    if service is None or len(rows) < EACH_MAX:
        return ""
    return url_with("/log", service=service.value, before=rows[-1]["id"])


def _row(one: Mapping[str, Any]) -> Sequence[Cell]:
    detail = f": {one['detail']}" if one["detail"] else ""
    parameters = json.dumps(one["parameters"], ensure_ascii=False) if one["parameters"] else ""
    role = "" if one["role"] == OPERATOR else f" ({one['role']})"
    service = str(one["service"]).replace("_", "-")
    return [
        moment(one["at"]),
        plain(f"{one['operator']}{role}"),
        route(f"{service} {one['action']}"),
        Cell(f"{one['outcome']}{detail}", "outcome", tone=TONES.get(one["outcome"], "quiet")),
        whole(one["reason"]),
        Cell(parameters, "json") if parameters else plain(None),
    ]
