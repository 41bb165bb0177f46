"""The status page: public, without a session, and without an amount."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.domain.status import (
    SERVICE,
    Incident,
    NetworkStatus,
    RouteState,
    StatusDay,
    Trouble,
    route_state,
    to_good_share,
)
from swap_dashboard.http.rendering import Pages, length
from swap_dashboard.ports import Clock
from swap_dashboard.usecases.record_status import ReadHistory, ReadStatus

DAYS: Final = 30
MATRIX_MAX: Final = 12  # networks with all routes shown
BAD_MINUTES: Final = 30  # of a day, from which on it is a bad one
CACHED: Final = {"cache-control": "public, max-age=10"}
TROUBLE_NAMES: Final = {
    Trouble.STOPPED: "Payouts are stopped",
    Trouble.CLOSED: "Closed to new swaps",
    Trouble.SILENT: "Blocks are not read",
    Trouble.SLOW: "Blocks are read late",
    Trouble.DRY: "No liquidity",
    Trouble.STUCK: "Swaps are delayed",
    Trouble.UNAVAILABLE: "The service does not answer",
}
LIQUIDITY: Final = {
    "available": ("available", "good"),
    "partial": ("limited", "warning"),
    "none": ("none", "bad"),
}
ROUTES: Final = {
    RouteState.AVAILABLE: "good",
    RouteState.LIMITED: "warning",
    RouteState.NONE: "bad",
}


@dataclass(frozen=True, slots=True)
class ShownDays:
    """One day, or consecutive days with the same text."""

    number: int
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownNetwork:
    """One network with its last days."""

    name: str
    status: NetworkStatus
    lag: str
    liquidity: tuple[str, str]
    troubles: Sequence[str]
    days: Sequence[ShownDays]
    share: str


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The routes from one network, where there are too many networks for a table of all routes."""

    networks: Sequence[NetworkStatus]
    source: NetworkStatus
    destinations: Sequence[tuple[RouteState, Sequence[NetworkStatus]]]  # what is missing first


@dataclass(frozen=True, slots=True)
class ShownIncident:
    where: str
    what: str
    began_at: datetime
    ended_at: datetime | None
    lasted: str


class StatusPages:
    def __init__(
        self, pages: Pages, read_status: ReadStatus, read_history: ReadHistory, *, clock: Clock
    ) -> None:
        self._pages = pages
        self._read_status = read_status
        self._read_history = read_history
        self._clock = clock
        self._names: dict[str, str] = {}  # the last known, also while the api is away

    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/status", self.show)]

    async def show(self, request: Request) -> Response:
        now = self._clock()
        networks = await self._read_status()
        days, incidents = await self._read_history()
        listed = networks or ()
        self._names |= {one.name: one.display_name for one in listed}
        present = _present_troubles(networks)
        values = {
            "title": "Status",
            "is_away": networks is None,
            "networks": [_shown_network(one, days, now.date()) for one in listed],
            "routes": listed if 1 < len(listed) <= MATRIX_MAX else (),
            "source_choice": _source_choice(listed, request.query_params.get("from", ""))
            if len(listed) > MATRIX_MAX
            else None,
            "route_state": route_state,
            "route_tones": ROUTES,
            "stuck": sum(one.stuck_swaps or 0 for one in listed),
            "open": [
                self._shown_incident(one, now) for one in _open_incidents(incidents, present, now)
            ],
            "past": [
                self._shown_incident(one, now) for one in incidents if one.ended_at is not None
            ],
            "service_share": to_good_share([one for one in days if one.network == SERVICE]),
            "at": now,
        }
        return self._pages.render("status.html", values, headers=CACHED)

    def _shown_incident(self, one: Incident, now: datetime) -> ShownIncident:
        where = self._names.get(one.network, one.network) or "All networks"
        lasted = length((one.ended_at or now) - one.began_at)
        return ShownIncident(where, TROUBLE_NAMES[one.trouble], one.began_at, one.ended_at, lasted)


def _source_choice(networks: Sequence[NetworkStatus], name: str) -> SourceChoice:
    """
    :param name: of the chosen network; the first one is shown instead of an unknown one.
    """
    source = next((one for one in networks if one.name == name), networks[0])
    by_state: dict[RouteState, list[NetworkStatus]] = {state: [] for state in reversed(RouteState)}
    for one in networks:
        by_state[route_state(source, one)].append(one)
    found = [(state, listed) for state, listed in by_state.items() if listed]
    return SourceChoice(networks, source, found)


def _present_troubles(
    networks: Sequence[NetworkStatus] | None,
) -> Collection[tuple[str, Trouble]] | None:
    """Return what is bad now; None while nothing is known of networks."""
    if networks is None:
        return None
    return {(one.name, trouble) for one in networks for trouble in one.troubles}


def _open_incidents(
    incidents: Sequence[Incident],
    present: Collection[tuple[str, Trouble]] | None,
    now: datetime,
) -> Sequence[Incident]:
    """Return the incidents that go on, with those of the last minute: they are not stored yet."""
    stored = [one for one in incidents if _is_open(one, present)]
    known = {(one.network, one.trouble) for one in stored}
    new = sorted(set(present or ()) - known)
    return [*(Incident(network, trouble, now, None) for network, trouble in new), *stored]


def _is_open(one: Incident, present: Collection[tuple[str, Trouble]] | None) -> bool:
    """Whether an incident goes on: what is over is stored within a minute."""
    is_over = present is not None and (one.network, one.trouble) not in present
    return one.ended_at is None and not is_over


def _shown_network(one: NetworkStatus, days: Sequence[StatusDay], today: date) -> ShownNetwork:
    own = {day.day: day for day in days if day.network == one.name}
    return ShownNetwork(
        name=one.display_name,
        status=one,
        lag="\N{EN DASH}" if one.lag is None else length(one.lag),
        liquidity=LIQUIDITY.get(one.liquidity, (one.liquidity, "quiet")),
        troubles=[TROUBLE_NAMES[trouble] for trouble in sorted(one.troubles)],
        days=_shown_days(own, today),
        share=to_good_share(list(own.values())),
    )


def _shown_days(own: Mapping[date, StatusDay], today: date) -> Sequence[ShownDays]:
    """Return the last days, the newest last. Days in a row that have the same text are one."""
    listed = [today - timedelta(days=ago) for ago in reversed(range(DAYS))]
    shown = []
    for (tone, text), group in groupby(listed, key=lambda day: _state_of(own.get(day))):
        days = list(group)
        when = f"{days[0]}" if len(days) == 1 else f"{days[0]} to {days[-1]}"
        shown.append(ShownDays(len(days), tone, f"{when}: {text}"))
    return shown


def _state_of(day: StatusDay | None) -> tuple[str, str]:
    if day is None:
        return "quiet", "no data"
    if not day.bad_minutes:
        return "good", "no incident"
    tone = "bad" if day.bad_minutes >= BAD_MINUTES else "warning"
    return tone, f"{day.bad_minutes} bad minutes of {day.minutes}"
