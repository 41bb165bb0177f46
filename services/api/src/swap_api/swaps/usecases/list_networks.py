from __future__ import annotations

from swap_api.model.keys import Caller
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.usecases.refresh_prices import RefreshPrices
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue import Catalogue

EMPTY = b"[]"


class ListNetworks:
    """List the networks with their tokens and prices, from bytes that are made beforehand."""

    def __init__(
        self,
        catalogue: Catalogue,
        public: PublicCatalogue,
        prices: RefreshPrices,
        rendering: JsonRendering,
    ) -> None:
        self._environment = catalogue.environment
        self._types = frozenset(facts.members["type"] for facts in public.networks.values())
        self._made = public.made
        self._prices = prices
        self._rendering = rendering

    def __call__(self, caller: Caller, types: frozenset[str]) -> bytes:
        """
        :param types: network types to keep; none keeps all.
        """
        if caller.environment != self._environment:
            return EMPTY
        wanted = types & self._types  # types without a network share one entry
        if types and not wanted:
            return EMPTY
        cached: tuple[int, bytes] | None = self._made.get((ListNetworks, wanted))
        if cached is None or cached[0] != self._prices.revision:
            ready = self._rendering.networks(self._prices.current, sorted(wanted))
            cached = self._made[ListNetworks, wanted] = (self._prices.revision, ready)
        return cached[1]
