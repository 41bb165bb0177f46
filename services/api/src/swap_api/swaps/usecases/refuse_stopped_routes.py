from __future__ import annotations

from typing import Final

from swap_api import observe
from swap_api.model.refusals import ApiRefusal
from swap_api.swaps.store.payout_stops import PostgresPayoutStops
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Network

EVERYWHERE: Final = "*"


class RefuseStoppedRoutes:
    """Take no swaps whose payouts are stopped, or whose networks are closed to new swaps.

    What is remembered is at most one interval old: a swap that is created in between waits, as
    those do that were there before. Prices are told meanwhile; they promise nothing.
    """

    def __init__(self, stops: PostgresPayoutStops) -> None:
        self._stops = stops
        self._known: frozenset[str] = frozenset()
        self._sources: frozenset[str] = frozenset()
        self._halted: frozenset[str] = frozenset()
        self._closed: frozenset[str] = frozenset()

    async def refresh(self) -> None:
        """
        :raises Unavailable: when Postgres is away; what was known stands.
        """
        found = await self._stops.current()
        if found != self._known:
            observe.stops_changed(found)
        self._known = found
        sources = await self._stops.sources()
        if sources != self._sources:
            observe.source_stops_changed(sources)
        self._sources = sources
        halted = await self._stops.halted()
        if halted != self._halted:
            observe.halts_changed(halted)
        self._halted = halted
        closed = await self._stops.closed()
        if closed != self._closed:
            observe.closures_changed(closed)
        self._closed = closed

    def check(self, source: Network, destination: Network) -> None:
        """
        :raises ApiRefusal: while nothing is paid there, or for what comes from there, or one
            of them is closed to new swaps.
        """
        # The views of stops name closed networks too.
        for network in (source, destination):
            if network.name in self._closed:
                raise _refusal(f"{network.display_name} takes no new swaps for the moment")
        if self._known & {destination.name, EVERYWHERE} or destination.name in self._halted:
            raise _refusal(f"Payouts to {destination.display_name} are paused for the moment")
        if source.name in self._sources | self._halted:
            raise _refusal(
                f"Payouts for what comes from {source.display_name} are paused for the moment"
            )


def _refusal(reason: str) -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.PAYOUTS_PAUSED,
        f"{reason}; try again later",
        headers={"retry-after": "60"},
    )
