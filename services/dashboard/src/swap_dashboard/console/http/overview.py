"""What needs an operator now, each number with the page that it is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.http.approvals import list_proposals
from swap_dashboard.console.http.books import backlog_href
from swap_dashboard.console.http.every_service import ServiceRows, gather_rows
from swap_dashboard.console.http.layout import ConsolePages
from swap_dashboard.console.http.parked import list_parked
from swap_dashboard.console.http.stops import network_state
from swap_dashboard.console.http.view import (
    Cell,
    Part,
    Table,
    Tile,
    View,
    link,
    moment,
    network_link,
    number,
    plain,
    seconds,
)
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
NOT_KNOWN: Final = "?"


class OverviewPages(ConsolePages):
    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/", self.show)]

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        api = visitor.api
        reads = (
            gather_rows(api, "/stuck", "stuck", of=[SETTLER]),
            gather_rows(api, "/payouts/stops", "stops", of=[SETTLER]),
            gather_rows(api, "/signers", "signers", of=[SETTLER]),
            gather_rows(api, "/claimable", "claimable", of=[SETTLER]),
            gather_rows(api, "/payouts/queue", "waiting", of=[SETTLER]),
            gather_rows(api, "/balances", "backlogs", of=[SETTLER]),
            gather_rows(api, "/networks", "networks", of=[ServiceName.CHAIN_WATCHER]),
        )
        read, parked, proposals = await asyncio.gather(
            asyncio.gather(*reads), list_parked(api), list_proposals(api)
        )
        stuck, stops, signers, claimable, queue, backlogs, networks = map(_available_rows, read)
        halted = signers and replace(signers, rows=[one for one in signers.rows if one["halted"]])
        tiles = [
            _tile("Stuck swaps", stuck, "/stuck", oldest="since"),
            _tile("Stops and halts", stops, "/stops", oldest="at", tone="warning"),
            _tile("Halted signers", halted, "/signers"),
            _tile("Parked messages", parked, "/parked", oldest="parked_at"),
            _tile("Approvals", proposals, "/approvals", oldest="proposed_at", tone="warning"),
            _tile("Claimable balances", claimable, "/claimables", tone="warning"),
            _tile("Payments held by a cap", queue, "/payments", oldest="since", tone="warning"),
        ]
        view = View(
            title="Overview",
            tiles=tiles,
            notices=_notices([*read, parked, proposals]),
            parts=[_oldest(stuck, parked, queue, backlogs), _networks(networks)],
        )
        return self._layout.page(view, visitor, section="overview")


def _notices(found: Sequence[ServiceRows]) -> Sequence[str]:
    """Return why something is missing: each service once, though it was asked for several lists."""
    unavailable = sorted({name for one in found for name in one.unavailable})
    no_answer = f"No answer from {', '.join(unavailable)}: what is known there is missing here."
    refusals = dict.fromkeys(sentence for one in found for sentence in one.refusals)
    return [*([no_answer] if unavailable else ()), *refusals]


def _available_rows(found: ServiceRows) -> ServiceRows | None:
    """Return the answer of one service; None where it gave none."""
    return None if found.unavailable or found.refusals else found


def _count(found: ServiceRows) -> str:
    """Return how many there are, and whether it is only known that there are more."""
    return f"{len(found.rows):,}{'+' if found.is_cut else ''}"


def _tile(
    label: str,
    found: ServiceRows | None,
    href: str,
    *,
    oldest: str = "",
    tone: str = "bad",
) -> Tile:
    if found is None:
        return Tile(label, NOT_KNOWN, href, "quiet")
    since = min((str(row[oldest]) for row in found.rows), default="") if oldest else ""
    return Tile(label, _count(found), href, tone if found.rows else "good", since)


def _oldest(
    stuck: ServiceRows | None,
    parked: ServiceRows,
    queue: ServiceRows | None,
    backlogs: ServiceRows | None,
) -> Part:
    """Return the oldest item of each kind, so that the longest wait is seen at once."""
    rows: list[Sequence[Cell]] = []
    for what, listed, since, href in (
        ("stuck swaps", stuck, "since", "/stuck"),
        ("parked messages", parked, "parked_at", "/parked"),
        ("payments that a cap holds", queue, "since", "/payments"),
    ):
        if listed is not None and listed.rows:
            first = min(str(one[since]) for one in listed.rows)
            count = replace(number(_count(listed)), href=href)
            rows.append([link(what, href), plain(None), count, moment(first)])
    for one in () if backlogs is None else backlogs.rows:
        count = replace(number(one["count"]), href=backlog_href(one))
        waited = seconds(one["oldest_seconds"])
        rows.append([link(one["what"], "/balances"), plain(one["network"]), count, waited])
    columns = ("What", "Network", ">Number", "Oldest")
    return Part("Waiting", table=Table(columns, rows, "Nothing is waiting."))


def _networks(networks: ServiceRows | None) -> Part:
    rows = [
        [
            network_link(one["network"]),
            number(one["head"]),
            number(one["cursor"]),
            number(one["lag_blocks"]),
            network_state(one),
        ]
        for one in (() if networks is None else networks.rows)
    ]
    columns = ("Network", ">Head", ">Read", ">Behind", "State")
    empty = "Not known." if networks is None else "No network is read yet."
    return Part("Networks", table=Table(columns, rows, empty))
