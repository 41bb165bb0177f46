from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from swap_api import observe
from swap_api.model.refusals import ApiRefusal
from swap_api.swaps.store.payout_stops import PostgresPayoutStops
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Network

EVERYWHERE: Final = "*"


class _CachedNetworks:
    """The networks of one kind of stop, as they were read last."""

    def __init__(
        self,
        read: Callable[[], Awaitable[frozenset[str]]],
        report_change: Callable[[Collection[str]], None],
    ) -> None:
        self._read = read
        self._report_change = report_change
        self.networks: frozenset[str] = frozenset()

    async def refresh(self) -> None:
        found = await self._read()
        if found != self.networks:
            self._report_change(found)
        self.networks = found


class RefuseStoppedRoutes:
    """Refuse swaps with stopped payouts, or with networks that are closed to new swaps.

    What is remembered is at most one interval old: a swap that is created in between waits, as
    those do that were there before. Prices are still returned, because they are not binding.
    """

    def __init__(self, stops: PostgresPayoutStops) -> None:
        self._destinations = _CachedNetworks(stops.current, observe.stops_changed)
        self._sources = _CachedNetworks(stops.sources, observe.source_stops_changed)
        self._halted = _CachedNetworks(stops.halted, observe.halts_changed)
        self._closed = _CachedNetworks(stops.closed, observe.closures_changed)

    async def refresh(self) -> None:
        """
        :raises Unavailable: when Postgres is away; what was known stands.
        """
        for one in (self._destinations, self._sources, self._halted, self._closed):
            await one.refresh()

    def check(self, source: Network, destination: Network) -> None:
        """
        :raises ApiRefusal: while nothing is paid there, or for what comes from there, or one
            of them is closed to new swaps.
        """
        # The views of stops name closed networks too.
        for network in (source, destination):
            if network.name in self._closed.networks:
                raise _refusal(f"{network.display_name} takes no new swaps for the moment")
        halted = self._halted.networks
        is_stopped = self._destinations.networks & {destination.name, EVERYWHERE}
        if is_stopped or destination.name in halted:
            raise _refusal(f"Payouts to {destination.display_name} are paused for the moment")
        if source.name in self._sources.networks | halted:
            raise _refusal(
                f"Payouts for what comes from {source.display_name} are paused for the moment"
            )


def _refusal(reason: str) -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.PAYOUTS_PAUSED,
        f"{reason}; try again later",
        headers={"retry-after": "60"},
    )
