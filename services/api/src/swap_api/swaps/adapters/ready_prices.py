"""Networks and tokens as bytes, made once for the prices they carry: they are most of an answer."""

from __future__ import annotations

from typing import Any, Final

import orjson

from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.rendering import Fragment, Prices
from swap_contracts.quoting import Quote

# Prices change every few seconds, and with them all cached entries.
CACHED_MAX: Final = 1024


class ReadyPrices(Prices):
    """Prices with rendered networks and tokens for an answer."""

    @classmethod
    def of(cls, quote: Quote, catalogue: PublicCatalogue) -> ReadyPrices:
        """Return those of a quote, the same for all quotes of a route at the same prices."""
        source, destination, cache = quote.source, quote.destination, catalogue.made
        key = (
            source.network,
            source.token,
            destination.network,
            destination.token,
            quote.source_usd_e18,
            quote.destination_usd_e18,
            quote.source_native_usd_e18,
            quote.destination_native_usd_e18,
        )
        known: ReadyPrices | None = cache.get(key)
        if known is None:
            if len(cache) >= CACHED_MAX:
                cache.clear()  # list_networks.py shares `made`: its answers are dropped too
            known = cache[key] = cls(quote, catalogue)
        return known

    def _to_answer(self, members: Fragment) -> Any:
        return orjson.Fragment(orjson.dumps(members))
