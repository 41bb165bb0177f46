"""Balances against commitments, losses beside their budgets, and the invariants with their rows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.units import Units, to_dollars
from swap_dashboard.console.http.layout import ConsolePages
from swap_dashboard.console.http.orders import find_row
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.units import amount_of, read_units, token_of
from swap_dashboard.console.http.view import (
    Cell,
    Part,
    Table,
    View,
    badge,
    code,
    deposit_link,
    document,
    label,
    link,
    moment,
    network_link,
    number,
    plain,
    seconds,
    swap_link,
    swap_page,
    url_with,
)
from swap_dashboard.console.ports import ServiceName
from swap_dashboard.http.rendering import duration

SETTLER: Final = ServiceName.SETTLER
BALANCES: Final = ("Network", "Token", ">Held", ">Owed", ">Free", ">In the Treasury", "State")
ACCOUNT: Final = ("Account", "What", ">Amount", "Swap", "Deposit", "App or address")
# An account of these kinds has a page of its own.
ACCOUNT_PAGES: Final = {
    "claimable": "/claimables",
    "suspense": "/claimables",
    "partner_fee": "/payments/fees",
}
ABOUT_SIDES: Final = {
    "held": "What the ledger has in the Treasury, and can be paid out.",
    "owed": "What is owed, by swap, owner and app. The page of a swap has its ledger.",
    "free": "What the ledger has in the Treasury, less what is owed, which is negative here.",
}
ABOUT_BACKLOGS: Final = {
    "deposits": "Deposits of swaps that are not paid out or refunded yet, the oldest first.",
    "refunds": "Refunds that are due, ordered, sent or mined, but not final, the oldest first.",
}
BACKLOGS: Final = ("What", "Network", ">Number", "Oldest")
LOSSES: Final = ("Network", ">Lost", ">Budget", "State")
OF_ENTRIES: Final = "#part-2"  # the second part of the page
ENTRIES: Final = ("When", "Kind", "Network", ">Amount", "Swap")
KINDS: Final = {"lost": "lost", "recovered": "found again", "refuel_lost": "refuel lost"}


class BookPages(ConsolePages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/balances", self.balances),
            Route("/balances/accounts", self.accounts),
            Route("/balances/treasury", self.treasury),
            Route("/balances/waiting", self.waiting),
            Route("/losses", self.losses),
            Route("/invariants", self.invariants),
        ]

    async def balances(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/balances"), read_units(visitor.api)
        )
        rows = [_balance(one, units) for one in content["balances"]]
        backlogs = [_backlog(one) for one in content["backlogs"]]
        parts = [
            Part("Balances", table=Table(BALANCES, rows, "Nothing is held or owed yet.")),
            Part("Waiting", table=Table(BACKLOGS, backlogs, "Nothing is waiting.")),
        ]
        view = View(
            title="Balances",
            about="What the ledger holds, what is owed to swaps, and what each Treasury had at a "
            "final block. Free is held less owed. Amounts are in the token of their row.",
            parts=parts,
        )
        return self._layout.page(view, visitor, section="balances")

    async def accounts(self, request: Request) -> Response:
        """Show what one side of an asset's balance is made of."""
        visitor = self._visitors.require(request)
        asset = {name: request.query_params.get(name, "") for name in ("network", "token")}
        side = request.query_params.get("side", "")
        query = {**asset, "side": side, **page_query(request)}
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/balances/accounts", query), read_units(visitor.api)
        )
        rows = [_account({**asset, **one}, units) for one in content["accounts"]]
        symbol = units.symbol(asset["network"], asset["token"])
        view = View(
            title=f"{symbol} on {asset['network']}: {side}",
            about=ABOUT_SIDES.get(side, ""),
            crumbs=[("/balances", "Balances")],
            parts=[Part("Accounts", table=Table(ACCOUNT, rows, "Nothing."))],
            next_page=next_page(request, content, others={**asset, "side": side}),
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="balances")

    async def treasury(self, request: Request) -> Response:
        """Show what a Treasury had of an asset, beside what the ledger has of it."""
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/balances"), read_units(visitor.api)
        )
        asset = {name: request.query_params.get(name, "") for name in ("network", "token")}
        one = find_row(content["balances"], **asset)
        symbol = units.symbol(asset["network"], asset["token"])
        view = View(
            title=f"{symbol} on {asset['network']}: in the Treasury",
            about="What the contract had at a final block. The ledger may be ahead of it.",
            crumbs=[("/balances", "Balances")],
            parts=[Part("Treasury", facts=_treasury_facts(one, units))],
        )
        return self._layout.page(view, visitor, section="balances")

    async def waiting(self, request: Request) -> Response:
        """Show what a number of the backlog is made of."""
        visitor = self._visitors.require(request)
        filters = {name: request.query_params.get(name, "") for name in ("kind", "network")}
        content = await visitor.api.get(
            SETTLER, "/balances/waiting", {**filters, **page_query(request)}
        )
        rows = [
            [
                swap_link(one["swap_id"]),
                deposit_link(one["deposit_id"]),
                moment(one["since"]),
            ]
            for one in content["waiting"]
        ]
        table = Table(("Swap", "Deposit", "Since"), rows, "Nothing is waiting any more.")
        view = View(
            title=f"Waiting on {filters['network']}: {filters['kind']}",
            about=ABOUT_BACKLOGS.get(filters["kind"], ""),
            crumbs=[("/balances", "Balances")],
            parts=[Part("Waiting", table=table)],
            next_page=next_page(request, content, others=filters),
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="balances")

    async def losses(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content, units = await asyncio.gather(
            visitor.api.get(SETTLER, "/losses", page_query(request)), read_units(visitor.api)
        )
        span = duration(timedelta(seconds=int(content["span_seconds"])))
        networks = [_loss(one) for one in content["networks"]]
        entries = [_entry(one, units) for one in content["entries"]]
        parts = [
            Part("Budgets", table=Table(LOSSES, networks), about=f"A loss counts for {span}."),
            Part("Entries", table=Table(ENTRIES, entries, "Nothing was ever lost.")),
        ]
        view = View(
            title="Losses",
            about="What reorgs took after it was paid for.",
            parts=parts,
            next_page=next_page(request, content),
        )
        return self._layout.page(view, visitor, section="losses")

    async def invariants(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(SETTLER, "/invariants", is_slow=True)
        results = content["invariants"]
        broken = [one for one in results if one["rows"] or one["failure"]]
        # Each broken one has a part of the page, in this order.
        parts_of = {one["name"]: f"#part-{n}" for n, one in enumerate(broken, 1) if one["rows"]}
        rows = [
            [
                _result(one),
                plain(one["name"]),
                replace(number(len(one["rows"])), href=parts_of.get(one["name"], "")),
            ]
            for one in results
        ]
        every = Table(("State", "Invariant", ">Rows"), rows)
        parts = [*(_violations(one) for one in broken), Part("All", table=every)]
        view = View(
            title="Invariants",
            about=f"{len(results) - len(broken)} of {len(results)} hold. "
            f"Checked at {content['at'][:19].replace('T', ' ')} UTC.",
            parts=parts,
        )
        return self._layout.page(view, visitor, section="invariants")


def _balance(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    held, owed = int(one["held_base_units"]), int(one["owed_base_units"])
    treasury = one["treasury_base_units"]
    asset = {name: one[name] for name in ("network", "token")}
    return [
        plain(one["network"]),
        token_of(units, one),
        replace(_amount_cell(one, units, held), href=_accounts_href(one, "held")),
        replace(_amount_cell(one, units, owed), href=_accounts_href(one, "owed")),
        replace(_amount_cell(one, units, held - owed), href=_accounts_href(one, "free")),
        plain("not read yet")
        if treasury is None
        else replace(
            _amount_cell(one, units, treasury), href=url_with("/balances/treasury", **asset)
        ),
        _cover(owed, treasury),
    ]


def _treasury_facts(one: Mapping[str, Any], units: Units) -> Sequence[tuple[str, Cell]]:
    held, treasury = one["held_base_units"], one["treasury_base_units"]
    difference = None if treasury is None else int(treasury) - int(held)
    of_ledger = amount_of(units, {**one, "base_units": held})
    return [
        ("Network", network_link(one["network"])),
        ("Token", token_of(units, one)),
        ("Contract of the token", code(one["token"])),
        # A settler of the previous release names neither.
        ("Treasury", code(one.get("treasury"))),
        ("Final block", number(one.get("treasury_block"))),
        ("Balance", _amount_or_none(one, units, treasury)),
        ("Held by the ledger", replace(of_ledger, href=_accounts_href(one, "held"))),
        ("Difference", _amount_or_none(one, units, difference)),
    ]


def _amount_or_none(one: Mapping[str, Any], units: Units, base_units: str | int | None) -> Cell:
    if base_units is None:
        return plain("not read yet")
    return amount_of(units, {**one, "base_units": base_units})


def _accounts_href(one: Mapping[str, Any], side: str) -> str:
    return url_with("/balances/accounts", network=one["network"], token=one["token"], side=side)


def _account(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    page, swap = ACCOUNT_PAGES.get(one["kind"], ""), one["swap_id"]
    href = f"{page}/{one['id']}" if page else ""
    return [
        link(f"#{one['id']}", href),
        plain(label(one["kind"])),
        replace(amount_of(units, one), href=href or swap_page(swap)),
        swap_link(swap),
        deposit_link(one["deposit_id"]),
        code(one["app_id"] or one["address"]),
    ]


def _amount_cell(one: Mapping[str, Any], units: Units, base_units: str | int) -> Cell:
    """Return an amount without its unit, which the column beside it has: four fit no page."""
    cell = amount_of(units, {**one, "base_units": base_units})
    return replace(cell, unit="") if cell.unit == token_of(units, one).text else cell


def _cover(owed: int, treasury: str | None) -> Cell:
    """Return whether the Treasury covers its liabilities, by its last final balance."""
    if treasury is None:
        return badge("not known")
    return badge("covered", "good") if int(treasury) >= owed else badge("not covered", "bad")


def _backlog(one: Mapping[str, Any]) -> Sequence[Cell]:
    count = replace(number(one["count"]), href=backlog_href(one))
    return [plain(one["what"]), plain(one["network"]), count, seconds(one["oldest_seconds"])]


def backlog_href(one: Mapping[str, Any]) -> str:
    """Return the page of what waits: one kind on one network.

    Empty beside a settler of the previous release, which names no kind.
    """
    if "kind" not in one:
        return ""
    return url_with("/balances/waiting", kind=one["kind"], network=one["network"])


def _loss(one: Mapping[str, Any]) -> Sequence[Cell]:
    href = url_with("/stops/lift", kind="losses", network=one["network"])
    lost = int(one["usd_micros"])
    return [
        link(one["network"], href) if one["is_stopped"] else plain(one["network"]),
        replace(number(to_dollars(lost)), href=OF_ENTRIES if lost else ""),
        number(to_dollars(one["budget_usd_micros"])),
        badge("stopped", "bad") if one["is_stopped"] else badge("within", "good"),
    ]


def _entry(one: Mapping[str, Any], units: Units) -> Sequence[Cell]:
    swap = one["swap_id"]
    return [
        moment(one["at"]),
        badge(KINDS.get(one["kind"], one["kind"]), "bad" if one["kind"] != "recovered" else "good"),
        plain(one["network"]),
        replace(amount_of(units, one), href=swap_page(swap)),
        swap_link(swap),
    ]


def _result(one: Mapping[str, Any]) -> Cell:
    if one["failure"]:
        return badge("not checked", "warning")
    return badge("broken", "bad") if one["rows"] else badge("holds", "good")


def _violations(one: Mapping[str, Any]) -> Part:
    if one["failure"]:
        return Part(one["name"], about=f"It could not be checked: {one['failure']}")
    names = list(one["rows"][0])
    rows = [[document(row.get(name)) for name in names] for row in one["rows"]]
    return Part(one["name"], table=Table([label(name) for name in names], rows))
