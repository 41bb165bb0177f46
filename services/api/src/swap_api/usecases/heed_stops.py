from __future__ import annotations

from typing import Final

from swap_api import observe
from swap_api.domain.refusals import ApiRefusal
from swap_api.lookup_ports import PayoutStops
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Network

EVERYWHERE: Final = "*"


class HeedStops:
    """Take no swaps whose payouts an operator has stopped.

    What is remembered is at most one interval old: a swap that is created in between waits, as
    those do that were there before. Prices are told meanwhile; they promise nothing.
    """

    def __init__(self, stops: PayoutStops) -> None:
        self._stops = stops
        self._known: frozenset[str] = frozenset()

    async def refresh(self) -> None:
        """
        :raises Unavailable: when Postgres is away; what was known stands.
        """
        found = await self._stops.current()
        if found != self._known:
            observe.stops_changed(found)
        self._known = found

    def check(self, destination: Network) -> None:
        """
        :raises ApiRefusal: while nothing is paid there.
        """
        if self._known & {destination.name, EVERYWHERE}:
            raise ApiRefusal(
                ErrorCode.PAYOUTS_PAUSED,
                f"Payouts to {destination.display_name} are paused for the moment; try again later",
                headers={"retry-after": "60"},
            )
