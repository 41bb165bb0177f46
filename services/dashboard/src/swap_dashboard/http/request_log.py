"""An app's API log: the requests of its servers, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.layout import Layout
from swap_dashboard.http.paging import filtered_link
from swap_dashboard.http.visitors import Member, Visitors, to_uuid
from swap_dashboard.ports import ApiAnswer, ApiRefused
from swap_dashboard.usecases.join_bench import LABEL

PAGE_SIZE: Final = 50
KEYS: Final = 50
TEXT_MAX: Final = 200
STATUS_DIGITS: Final = 3
FILTERS: Final = ("request_id", "route", "status", "failed")


class RequestLogPages:
    def __init__(self, layout: Layout, visitors: Visitors, *, has_bench: bool) -> None:
        """
        :param has_bench: whether a test bench may poll with a key of the app.
        """
        self._has_bench = has_bench
        self._layout = layout
        self._visitors = visitors

    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/apps/{app_id}/requests", self.list_all)]

    async def list_all(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        filters = _read_filters(request)
        path = f"/apps/{app['id']}/requests"
        try:
            bench_key = await self._bench_key(member, app)
            # One request is found whatever key it came with.
            hidden = "" if filters["bench"] or filters["request_id"] else bench_key
            query = {**_query_of(filters), "without_key": hidden}
            answered = await member.api.get(path, query)
        except ApiRefused as error:
            # A status that no answer has: the address was written by hand.
            if error.status != HTTPStatus.BAD_REQUEST:
                raise
            answered = ApiAnswer([])
            bench_key = ""
        records = answered.data
        values = {
            "has_bench_key": bool(bench_key),
            "bench_link": filtered_link(path, {**filters, "starting_after": ""}, bench="show"),
            "records": records,
            "filters": filters,
            "is_filtered": any(filters[name] for name in FILTERS),
            "first_link": filtered_link(path, filters) if filters["starting_after"] else None,
            "next_link": filtered_link(path, filters, starting_after=records[-1]["id"])
            if answered.has_more
            else None,
        }
        return self._layout.of_member(
            "requests.html", values, member=member, app=app, title="API log", section="requests"
        )

    async def _bench_key(self, member: Member, app: Mapping[str, Any]) -> str:
        """Return the test bench's key, which polls all the time; empty without one."""
        if not self._has_bench or app["environment"] != "test":
            return ""
        keys = (await member.api.get(f"/apps/{app['id']}/keys", {"page_size": KEYS})).data
        found = (key for key in keys if key["label"] == LABEL and key["revoked_at"] is None)
        return str(next((key["id"] for key in found), ""))


def _read_filters(request: Request) -> dict[str, str]:
    """Return the filters of the address; what cannot be one is left out."""
    query = request.query_params
    status, after = query.get("status", "").strip(), query.get("starting_after", "")
    is_status = status.isascii() and status.isdecimal() and len(status) == STATUS_DIGITS
    return {
        "request_id": query.get("request_id", "").strip()[:TEXT_MAX],
        "route": query.get("route", "").strip()[:TEXT_MAX],
        "status": status if is_status else "",
        "bench": "show" if query.get("bench") == "show" else "",
        "failed": "yes" if query.get("failed") == "yes" else "",
        "starting_after": str(to_uuid(after)) if after else "",
    }


def _query_of(filters: Mapping[str, str]) -> Mapping[str, Any]:
    named = {
        **{name: filters[name] for name in ("request_id", "route", "starting_after")},
        "http_status": filters["status"],
        "failed_only": "true" if filters["failed"] else "",
    }
    return {"page_size": PAGE_SIZE, **{name: value for name, value in named.items() if value}}
