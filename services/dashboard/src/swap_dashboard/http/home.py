"""Where a visit begins: an app's figures, and what is left to do for its first webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.layout import Layout
from swap_dashboard.http.rendering import cut, duration, exact_amount
from swap_dashboard.http.visitors import Member, Visitors
from swap_dashboard.ports import ApiUnavailable

KEYS: Final = 50
COMPLETED: Final = "completed"
# An unpaid swap is no failure of a payment.
CLOSED: Final = (COMPLETED, "failed", "refunded")
ENDED: Final = (COMPLETED, "failed", "refunded", "expired")
# Not broken after "Last" in a narrow column.
PERIODS: Final = {
    "day": "Last\N{NO-BREAK SPACE}24 hours",
    "week": "Last\N{NO-BREAK SPACE}7 days",
}
LIVE: Final = ("user_transfer_pending", "ls_transfer_pending", "pending_refund")
App = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and the list that it is made of."""

    shown: str
    link: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step from an empty app to a webhook that arrived."""

    text: str
    link: str
    is_done: bool


class HomePages:
    def __init__(self, layout: Layout, visitors: Visitors, *, has_bench: bool) -> None:
        """
        :param has_bench: whether a test bench creates swaps of test apps.
        """
        self._has_bench = has_bench
        self._layout = layout
        self._visitors = visitors

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/", self.start),
            Route("/apps/{app_id}", self.show),
            Route("/robots.txt", self.robots),
        ]

    async def start(self, request: Request) -> Response:
        """Lead to the app that was looked at last, or to the one with the newest swap."""
        member = await self._visitors.member(request)
        if not member.apps:
            return self._layout.of_member(
                "no_apps.html", {}, member=member, title="Start", section="home"
            )
        app = member.last_app or await _with_newest_swap(member)
        return RedirectResponse(f"/apps/{app['id']}", status_code=303)

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        path = f"/apps/{app['id']}"
        figures, days, keys, fees, hooks = await asyncio.gather(
            member.api.get(f"{path}/figures"),
            member.api.get(f"{path}/figures/days"),
            member.api.get(f"{path}/keys", {"page_size": KEYS}),
            _fees_of(member, path),
            _webhooks_of(member, path),
        )
        steps = steps_of(app, figures.data, keys.data, hooks, has_bench=self._has_bench)
        values = {
            "steps": steps if not all(step.is_done for step in steps) else [],
            "live": [_swaps(path, figures.data["live"].get(one, 0), status=one) for one in LIVE],
            "live_statuses": LIVE,
            "periods": [
                rows_of(path, figures.data[name], title) for name, title in PERIODS.items()
            ],
            "days": [day_of(path, day) for day in days.data],
            "fees": [fees_of(path, one) for one in fees],
            "hooks": hooks,
        }
        return self._layout.of_member(
            "home.html", values, member=member, app=app, title="Home", section="home"
        )

    async def robots(self, _: Request) -> Response:
        return PlainTextResponse("User-agent: *\nDisallow: /\n")


def fees_of(path: str, sums: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the app has earned in one token, and the list of its fees."""
    asset = {"network": sums["network"], "token": sums["token"], "kind": "fee"}
    return {
        **asset,
        "earned": Figure(
            _stored_amount(sums["earned"], sums["token"]),
            f"{path}/fees?{urlencode(asset)}#entries",
        ),
    }


def _stored_amount(earned: Mapping[str, Any], token: str) -> str:
    """Return an amount with its token: in base units when that has left the catalogue."""
    if earned["decimals"] is None:
        return f"{earned['amount_in_base_units']} base units of {cut(token, 6, 4)}"
    return f"{exact_amount(earned['amount_in_base_units'], earned['decimals'])} {token}"


def rows_of(path: str, period: Mapping[str, Any], title: str) -> dict[str, Any]:
    """Return the figures of one period, each with its list."""
    since, statuses = period["since"], period["statuses"]
    return {
        "title": title,
        "ended": [_swaps(path, statuses.get(one, 0), since=since, status=one) for one in ENDED],
        **_amounts_of(path, period, since=since),
    }


def day_of(path: str, day: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one day, each with its list, and the values that charts draw."""
    success, median = _success(day["statuses"]), day["median_completion_seconds"]
    return {
        "at": day["day"],
        "success_value": "" if success is None else f"{success:.2f}",
        "volume_value": f"{day['volume_in_usd']:.2f}",
        "median_value": "" if median is None else f"{median:.3f}",
        **_amounts_of(path, day, since=day["day"], until=day["day"]),
    }


def _success(statuses: Mapping[str, int]) -> float | None:
    """Return the share of completed swaps in percent; None where none has ended."""
    closed = sum(statuses.get(one, 0) for one in CLOSED)
    return 100 * statuses.get(COMPLETED, 0) / closed if closed else None


def _amounts_of(path: str, period: Mapping[str, Any], **when: str) -> dict[str, Figure]:
    median, success = period["median_completion_seconds"], _success(period["statuses"])
    of_completed = _link(path, **when, status=COMPLETED)
    return {
        "created": _swaps(path, period["created"], **when),
        "success": Figure(
            "\N{EN DASH}" if success is None else f"{success:.1f} %",
            _link(path, **when, status=CLOSED),
        ),
        "volume": Figure(f"${period['volume_in_usd']:,.2f}", of_completed),
        "median": Figure(
            "\N{EN DASH}" if median is None else duration(timedelta(seconds=median)), of_completed
        ),
    }


def steps_of(
    app: App,
    figures: Mapping[str, Any],
    keys: Sequence[Mapping[str, Any]],
    hooks: Sequence[Mapping[str, Any]] | None,
    *,
    has_bench: bool,
) -> list[Step]:
    """Return what leads to a first webhook, each ticked once it is so."""
    path = f"/apps/{app['id']}"
    endpoints = hooks or []
    creating = "bench" if has_bench and app["environment"] == "test" else "swaps"
    return [
        Step("Create an API key", f"{path}/keys", any(key["revoked_at"] is None for key in keys)),
        Step("Add a webhook endpoint", f"{path}/webhooks", bool(endpoints)),
        Step("Create a first swap", f"{path}/{creating}", figures["newest_at"] is not None),
        Step(
            "Receive a first webhook",
            f"{path}/webhooks",
            any(one.get("first_delivered_at") for one in endpoints),
        ),
    ]


async def _with_newest_swap(member: Member) -> App:
    """Return the first app where there is no swap at all."""
    if len(member.apps) == 1:
        return member.apps[0]
    newest = {"page_size": 1, "include_expired": "true"}
    lists = await asyncio.gather(
        *(member.api.get(f"/apps/{app['id']}/swaps", newest) for app in member.apps)
    )
    created = [one.data[0]["swap"]["created_date"] if one.data else "" for one in lists]
    return member.apps[created.index(max(created))]


async def _fees_of(member: Member, path: str) -> Sequence[Mapping[str, Any]]:
    """Return what was earned, by token; nothing while the api cannot say: Home shows the rest."""
    try:
        sums: Sequence[Mapping[str, Any]] = (await member.api.get(f"{path}/fees")).data
    except ApiUnavailable:
        return []
    return sums


async def _webhooks_of(member: Member, path: str) -> list[dict[str, Any]] | None:
    """Return the endpoints with their figures; None while the notifier is away."""
    try:
        endpoints, figures = await asyncio.gather(
            member.api.get(f"{path}/webhooks"), member.api.get(f"{path}/webhooks/figures")
        )
    except ApiUnavailable:
        return None
    by_id = {one["endpoint_id"]: one for one in figures.data}
    return [
        {**one, "figures": _messages(f"{path}/webhooks/{one['id']}", by_id[one["id"]])}
        for one in endpoints.data
        if one["id"] in by_id
    ]


def _messages(path: str, figures: Mapping[str, Any]) -> dict[str, Figure]:
    total = figures["delivered"] + figures["undelivered"]
    since = figures["since"]
    return {
        "sent": Figure(f"{total:,}", f"{path}?{urlencode({'since': _moment(since)})}"),
        "undelivered": Figure(
            f"{figures['undelivered']:,}",
            f"{path}?{urlencode({'since': _moment(since), 'undelivered_only': 1})}",
        ),
    }


def _swaps(path: str, number: int, **filters: Any) -> Figure:
    return Figure(f"{number:,}", _link(path, **filters))


def _link(path: str, **filters: Any) -> str:
    shown = {name: _moment(v) if name == "since" else v for name, v in filters.items()}
    return f"{path}/swaps?{urlencode(shown, doseq=True)}"


def _moment(text: str) -> str:
    """Return a moment of the api as filters have it: in UTC, to the second."""
    return text[: len("2026-01-01T00:00:00")]
