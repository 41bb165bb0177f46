from __future__ import annotations

from swap_api.model.keys import Caller
from swap_api.model.refusals import ApiRefusal
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.network_names import unserved_text
from swap_api.swaps.decide.orders import no_route
from swap_api.swaps.decide.reach import Reach, ReachQuery, Side
from swap_api.swaps.usecases.refresh_prices import RefreshPrices
from swap_domain.catalogue import Catalogue

EMPTY = b"[]"


class ListReachable:
    """List the tokens that a swap can start from or end at, seen from the other end."""

    def __init__(
        self, catalogue: Catalogue, reach: Reach, prices: RefreshPrices, rendering: JsonRendering
    ) -> None:
        self._catalogue = catalogue
        self._reach = reach
        self._prices = prices
        self._rendering = rendering

    def __call__(self, caller: Caller, side: Side, query: ReachQuery) -> bytes:
        """
        :raises ApiRefusal: when the other end is not in the catalogue, or a token has no network.
        """
        if caller.environment != self._catalogue.environment:
            return EMPTY
        try:
            reached = self._reach(side, query)
        except LookupError:
            raise self._refusal(side, query) from None
        return self._rendering.render_reach(reached, self._prices.current)

    def _refusal(self, side: Side, query: ReachQuery) -> ApiRefusal:
        if query.network is None or self._catalogue.find_network(query.network) is not None:
            return no_route()
        return no_route(**{f"{side.other}_network": unserved_text(self._catalogue, query.network)})
