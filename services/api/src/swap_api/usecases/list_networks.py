from __future__ import annotations

from swap_api.domain.keys import Caller
from swap_api.ports import Rendering
from swap_api.usecases.know_prices import KnowPrices
from swap_domain.catalogue import Catalogue

EMPTY = b"[]"


class ListNetworks:
    """List the networks with their tokens and prices, from bytes that are made beforehand."""

    def __init__(self, catalogue: Catalogue, prices: KnowPrices, rendering: Rendering) -> None:
        self._environment = catalogue.environment
        self._prices = prices
        self._rendering = rendering
        self._revision = -1
        self._ready: dict[frozenset[str], bytes] = {}

    def __call__(self, caller: Caller, types: frozenset[str]) -> bytes:
        """
        :param types: network types to keep; none keeps all.
        """
        if caller.environment != self._environment:
            return EMPTY
        if self._revision != self._prices.revision:
            self._revision = self._prices.revision
            self._ready.clear()
        if types not in self._ready:
            self._ready[types] = self._rendering.networks(self._prices.current, sorted(types))
        return self._ready[types]
