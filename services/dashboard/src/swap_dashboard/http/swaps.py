"""An app's swaps: the list with its filters, and one swap with everything that it is made of."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from swap_dashboard.domain.search import SearchKind, classify
from swap_dashboard.http import swap_view
from swap_dashboard.http.event_streams import EventStream, open_stream
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.ledger_names import with_names
from swap_dashboard.http.paging import filtered_link
from swap_dashboard.http.pay_view import explorer_link, qr_code
from swap_dashboard.http.rendering import STATUS_ORDER
from swap_dashboard.http.stream_slots import StreamSlots
from swap_dashboard.http.swap_events import last_event_id, timeline_of
from swap_dashboard.http.swap_export import ROWS_MAX, csv_of
from swap_dashboard.http.visitors import Member, Visitors, to_uuid
from swap_dashboard.ports import ApiAnswer, ApiRefused, ApiUnavailable

PAGE_SIZE: Final = 25
SEARCH_MAX: Final = 256
FILTERS: Final = ("q", "status", "network", "since", "until")
WEB: Final = ("https://", "http://")
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
NETWORK: Final = re.compile(r"[A-Za-z0-9_]{1,100}")
MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?")


class SwapPages:
    def __init__(
        self, layout: Layout, visitors: Visitors, *, api_url: str, stream_slots: StreamSlots
    ) -> None:
        """
        :param api_url: the API's address in the command that a member may copy.
        """
        self._layout = layout
        self._visitors = visitors
        self._api_url = api_url
        self._stream_slots = stream_slots

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/apps/{app_id}/swaps", self.list_all),
            Route("/apps/{app_id}/swaps.csv", self.export),
            Route("/apps/{app_id}/swaps/live", self.follow_list),
            Route("/apps/{app_id}/swaps/{swap_id}", self.show),
            Route("/apps/{app_id}/swaps/{swap_id}/live", self.follow),
            Route("/apps/{app_id}/swaps/{swap_id}/transactions", self.show_transactions),
        ]

    async def list_all(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        filters = read_filters(request)
        path = f"/apps/{app['id']}/swaps"
        after = filters["starting_after"]
        live_link = filtered_link(f"{path}/live", filters, starting_after=after)
        try:
            found = await _find_by_identity(member, path, filters["q"])
            if found is not None:
                return RedirectResponse(f"{path}/{found}", status_code=303)
            answered = await member.api.get(path, query_of(filters))
        except ApiRefused as error:
            answered, live_link = _empty_if_invalid(error), ""
        swaps = [item["swap"] | {"quote": item["quote"]} for item in answered.data]
        values = {
            "swaps": swaps,
            "total": answered.total,
            "filters": filters,
            "status_order": STATUS_ORDER,
            "next_link": _next_page_link(path, filters, swaps) if answered.has_more else None,
            "live_link": live_link,
            "first_link": filtered_link(path, filters) if filters["starting_after"] else None,
            "export_link": filtered_link(f"{path}.csv", filters),
            "export_max": ROWS_MAX,
            "is_filtered": any(filters[name] for name in FILTERS),
        }
        return self._layout.of_member(
            "swaps.html", values, member=member, app=app, title="Swaps", section="swaps"
        )

    async def export(self, request: Request) -> Response:
        """Stream the swaps of the list as a file, in constant memory."""
        member = await self._visitors.member(request)
        app = member.app_of(request)
        filters = {**read_filters(request), "starting_after": ""}
        lines = csv_of(member.api, f"/apps/{app['id']}/swaps", query_of(filters))
        headers = {"content-disposition": 'attachment; filename="swaps.csv"'}
        return StreamingResponse(lines, media_type="text/csv", headers=headers)

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        swap_id = to_uuid(request.path_params["swap_id"])
        path = f"/apps/{app['id']}/swaps/{swap_id}"
        read, events, ledger, quotes, webhooks, pay_url = await asyncio.gather(
            member.api.get(path),
            member.api.get(f"{path}/events"),
            member.api.get(f"{path}/ledger"),
            _quotes_of(member, path),
            _webhooks_of(member, str(app["id"]), path),
            _pay_url(member, path),
        )
        swap, quote, booked = read.data["swap"], read.data["quote"], ledger.data
        values = {
            "document": read.data,
            "swap": swap,
            "quote": quote,
            "timeline": swap_view.with_new_prices(timeline_of(events.data), swap),
            "ledger": with_names(swap_view.with_sums(booked), _network_names(swap)),
            "deposited": swap_view.partial_deposit_of(swap),
            "progress": swap_view.progress_of(swap),
            "repriced": swap_view.repriced_of(swap, quotes),
            "figures": swap_view.figures_of(swap, quote, quotes, booked),
            "delivered": swap_view.delivered_of(swap, quote, quotes, booked),
            "under_way": swap_view.under_way_of(swap),
            "senders": swap_view.senders_of(swap),
            "refunds": swap_view.refunds_of(swap),
            "reversal_part": swap_view.reversal_part(booked),
            "refund_fees": swap_view.refund_fees_of(swap),
            "refund_fees_part": swap_view.refund_fees_part(booked),
            **_shown_transactions(swap),
            "pay_url": pay_url,
            "pay_qr": pay_url and qr_code(pay_url),
            **webhooks,
            "curl": f"curl -H 'Authorization: Bearer TOKEN' {self._api_url}/management/v1{path}",
        }
        return self._layout.of_member(
            "swap.html", values, member=member, app=app, title="Swap", section="swaps"
        )

    async def show_transactions(self, request: Request) -> Response:
        """Render the part of a swap's page that has confirmations: no event says that they grow."""
        member = await self._visitors.member(request, is_use=False)
        app = member.app_of(request)
        swap_id = to_uuid(request.path_params["swap_id"])
        swap = (await member.api.get(f"/apps/{app['id']}/swaps/{swap_id}")).data["swap"]
        values = {"swap": swap, **_shown_transactions(swap)}
        return self._layout.of_member(
            "swap_transactions.html", values, member=member, app=app, title="Swap", section="swaps"
        )

    async def follow(self, request: Request) -> Response:
        """Pass a swap's events on as they come, for a while."""
        member = await self._visitors.member(request, is_use=False)
        app = member.app_of(request)
        swap_id = to_uuid(request.path_params["swap_id"])
        path = f"/apps/{app['id']}/swaps/{swap_id}/events"
        events = member.api.stream(path, last_event_id(request))
        return await self._open_stream(events, member)

    async def follow_list(self, request: Request) -> Response:
        """Pass on which swaps the list has, and their statuses, whenever they change."""
        member = await self._visitors.member(request, is_use=False)
        app = member.app_of(request)
        query = query_of(read_filters(request))
        events = member.api.stream(f"/apps/{app['id']}/swap_states", "", query)
        return await self._open_stream(events, member)

    async def _open_stream(
        self, events: AsyncGenerator[bytes, None], member: Member
    ) -> EventStream:
        """Hold a slot by account: colleagues of one office have one address."""
        return await open_stream(
            events,
            self._stream_slots,
            str(member.visitor.session.account_id),
            is_permitted=lambda: self._visitors.is_signed_in(member),
        )


def read_filters(request: Request) -> dict[str, Any]:
    """Return the filters of the URL, without invalid ones.

    `since` may be a moment as well: the home page links with one. The page of limits links with a
    network, which is the source or the destination.
    """
    query = request.query_params
    after = query.get("starting_after", "")
    since, until = query.get("since", ""), query.get("until", "")
    network = query.get("network", "")
    is_since = DAY.fullmatch(since) or MOMENT.fullmatch(since)
    return {
        "q": query.get("q", "").strip()[:SEARCH_MAX],
        "status": [one for one in query.getlist("status") if one in STATUS_ORDER],
        "network": network if NETWORK.fullmatch(network) else "",
        "since": since if is_since else "",
        "until": until if DAY.fullmatch(until) else "",
        "starting_after": to_uuid(after) if after else "",
    }


def query_of(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters for the api. A text that is no address is a reference id."""
    text = filters["q"]
    is_address = classify(text) is SearchKind.ADDRESS
    return {
        "page_size": PAGE_SIZE,
        "include_expired": "true",
        "statuses": ",".join(filters["status"]),
        "networks": filters["network"],
        "address": text if is_address else "",
        "reference_id": "" if is_address else text,
        "created_after": _begin_of(filters["since"]),
        "created_before": filters["until"] and f"{filters['until']}T23:59:59.999999Z",
        "starting_after": filters["starting_after"],
    }


def _begin_of(since: str) -> str:
    """Return a moment, or the begin of a day, in UTC."""
    if not since:
        return ""
    return f"{since}Z" if "T" in since else f"{since}T00:00:00Z"


async def _find_by_identity(member: Member, path: str, text: str) -> str | None:
    """Return the swap that an id or a transaction's hash names."""
    match classify(text):
        case SearchKind.SWAP:
            address = f"{path}/{text.casefold()}"
        case SearchKind.TRANSACTION:
            address = f"{path}/by_transaction_hash/{text}"
        case _:
            return None
    try:
        return str((await member.api.get(address)).data["swap"]["id"])
    except ApiRefused as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def _shown_transactions(swap: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "is_unconfirmed": swap_view.is_unconfirmed(swap),
        "is_over": swap_view.is_over(swap),
        "explorer_link": explorer_link,
    }


def _network_names(swap: Mapping[str, Any]) -> Mapping[str, str]:
    networks = swap["source_network"], swap["destination_network"]
    return {one["name"]: one["display_name"] for one in networks}


async def _quotes_of(member: Member, path: str) -> Sequence[Mapping[str, Any]]:
    """Return the quotes of a swap; none from an api of an earlier version."""
    try:
        quotes: Sequence[Mapping[str, Any]] = (await member.api.get(f"{path}/quotes")).data
    except ApiRefused as refusal:
        if refusal.status == HTTPStatus.NOT_FOUND:
            return ()
        raise
    return quotes


async def _pay_url(member: Member, path: str) -> str | None:
    """Return the link to the pay page; None where the api refuses it: no pay page, or no right."""
    try:
        link = (await member.api.get(f"{path}/pay_link")).data
    except ApiRefused:
        return None
    url = str(link["url"] or "")
    return url if url.startswith(WEB) else None


async def _webhooks_of(member: Member, app_id: str, path: str) -> dict[str, Any]:
    """Return the webhook messages about a swap, and endpoints by id.

    While the notifier is unavailable, the rest of the page is shown without them.
    """
    try:
        messages, endpoints = await asyncio.gather(
            member.api.get(f"{path}/webhooks"), member.api.get(f"/apps/{app_id}/webhooks")
        )
    except ApiUnavailable:
        return {"messages": None, "endpoints": {}}
    by_id = {one["id"]: one for one in endpoints.data}
    return {"messages": messages.data, "endpoints": by_id}


def _empty_if_invalid(error: ApiRefused) -> ApiAnswer:
    """Show an empty list instead of an error page where the API rejects a search text."""
    if error.code == "VALIDATION_ERROR":
        return ApiAnswer([], 0)
    raise error


def _next_page_link(
    path: str, filters: Mapping[str, Any], swaps: Sequence[Mapping[str, Any]]
) -> str:
    return filtered_link(path, filters, starting_after=swaps[-1]["id"])
