"""The public state of networks: present and past troubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

SLOW_AFTER: Final = timedelta(minutes=2)
SILENT_AFTER: Final = timedelta(minutes=15)
HISTORY: Final = timedelta(days=30)
SERVICE: Final = ""  # the network of what concerns all of them


class Trouble(StrEnum):
    """What is bad about a network; the values are stored."""

    STOPPED = "stopped"  # nothing is paid there for now
    CLOSED = "closed"  # no new swap is taken from or to it; those under way are paid
    SILENT = "silent"  # its blocks are not read
    SLOW = "slow"  # its blocks are read late
    DRY = "dry"  # nothing can be paid out there
    STUCK = "stuck"  # swaps from there take too long
    UNAVAILABLE = "away"  # the service does not answer


class RouteState(StrEnum):
    """Whether swaps of a route can be created and paid."""

    AVAILABLE = "available"
    LIMITED = "limited"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class NetworkStatus:
    """One network as the api reports it."""

    name: str
    display_name: str
    head: int | None
    lag: timedelta | None  # None before the first block
    liquidity: str  # available, partial or none
    is_stopped: bool
    is_closed: bool
    stuck_swaps: int | None

    @property
    def troubles(self) -> frozenset[Trouble]:
        found = {
            Trouble.STOPPED: self.is_stopped,
            Trouble.CLOSED: self.is_closed,
            Trouble.SILENT: self.lag is None or self.lag > SILENT_AFTER,
            Trouble.SLOW: self.lag is not None and SLOW_AFTER < self.lag <= SILENT_AFTER,
            Trouble.DRY: self.liquidity == "none",
            Trouble.STUCK: bool(self.stuck_swaps),
        }
        return frozenset(trouble for trouble, is_so in found.items() if is_so)


@dataclass(frozen=True, slots=True)
class Incident:
    """A trouble of one network, from when it was first seen until it was gone."""

    network: str
    trouble: Trouble
    began_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class StatusDay:
    """How many minutes of one day were looked at, and how many were bad."""

    network: str
    day: date
    minutes: int
    bad_minutes: int


def route_state(source: NetworkStatus, destination: NetworkStatus) -> RouteState:
    """Return what can be swapped from one network to another."""
    if {Trouble.STOPPED, Trouble.CLOSED, Trouble.SILENT} & (source.troubles | destination.troubles):
        return RouteState.NONE
    if destination.liquidity == "none":
        return RouteState.NONE
    is_limited = destination.liquidity == "partial" or Trouble.SLOW in (
        source.troubles | destination.troubles
    )
    return RouteState.LIMITED if is_limited else RouteState.AVAILABLE


def to_good_share(days: Sequence[StatusDay]) -> str:
    """Return the share of good minutes, rounded down; a dash where nothing was looked at."""
    minutes = sum(one.minutes for one in days)
    if not minutes:
        return "\N{EN DASH}"
    hundredths = (minutes - sum(one.bad_minutes for one in days)) * 10_000 // minutes
    return f"{hundredths // 100}.{hundredths % 100:02} %"
