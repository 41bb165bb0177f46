from __future__ import annotations

from swap_api import observe
from swap_api.domain.keys import Caller
from swap_api.ports import Pricing, Rendering
from swap_domain.catalogue import Catalogue
from swap_runtime.errors import Unavailable

EMPTY = b"[]"


class ListNetworks:
    """List the networks with their tokens and prices, from bytes that are made beforehand."""

    def __init__(self, catalogue: Catalogue, pricing: Pricing, rendering: Rendering) -> None:
        self._environment = catalogue.environment
        self._pricing = pricing
        self._rendering = rendering
        self._prices: dict[tuple[str, str], int] = {}
        self._ready: dict[frozenset[str], bytes] = {}

    def __call__(self, caller: Caller, types: frozenset[str]) -> bytes:
        """
        :param types: network types to keep; none keeps all.
        """
        if caller.environment != self._environment:
            return EMPTY
        if types not in self._ready:
            self._ready[types] = self._rendering.networks(self._prices, sorted(types))
        return self._ready[types]

    async def refresh(self) -> None:
        """Take over the newest prices; while there are none, the last ones stand."""
        try:
            answer = await self._pricing.prices()
        except Unavailable as error:
            observe.quoter_away(error)
            return
        self._prices |= {(p.network, p.token): int(p.usd_e18) for p in answer.prices}
        self._ready.clear()
