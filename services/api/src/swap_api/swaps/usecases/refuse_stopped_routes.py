from __future__ import annotations

from typing import Final

from swap_api import observe
from swap_api.model.refusals import ApiRefusal
from swap_api.swaps.store.payout_stops import PostgresPayoutStops, Stop
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Network

EVERYWHERE: Final = "*"


class RefuseStoppedRoutes:
    """Refuse swaps with stopped payouts, or with networks that are closed to new swaps.

    What is remembered is at most one interval old: a swap that is created in between waits, as
    those do that were there before. Prices are still returned, because they are not binding.
    """

    def __init__(self, stops: PostgresPayoutStops) -> None:
        self._stops = stops
        self._networks: dict[Stop, frozenset[str]] = dict.fromkeys(Stop, frozenset())

    async def refresh(self) -> None:
        """
        :raises Unavailable: when Postgres is away; what was known stands.
        """
        for stop, known in self._networks.items():
            found = await self._stops.networks(stop)
            if found != known:
                observe.stops_changed(stop, found)
            self._networks[stop] = found

    def check(self, source: Network, destination: Network) -> None:
        """
        :raises ApiRefusal: while nothing is paid there, or for what comes from there, or one
            of them is closed to new swaps.
        """
        # The views of stops name closed networks too.
        for network in (source, destination):
            if network.name in self._networks[Stop.CLOSURE]:
                raise _refusal(f"{network.display_name} takes no new swaps for the moment")
        halted = self._networks[Stop.HALT]
        is_stopped = self._networks[Stop.DESTINATION] & {destination.name, EVERYWHERE}
        if is_stopped or destination.name in halted:
            raise _refusal(f"Payouts to {destination.display_name} are paused for the moment")
        if source.name in self._networks[Stop.SOURCE] | halted:
            raise _refusal(
                f"Payouts for what comes from {source.display_name} are paused for the moment"
            )


def _refusal(reason: str) -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.PAYOUTS_PAUSED,
        f"{reason}; try again later",
        headers={"retry-after": "60"},
    )
