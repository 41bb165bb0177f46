"""Loads the market from messages that any replica received."""

from __future__ import annotations

from swap_quoter.adapters.known_market import PostgresKnownMarket
from swap_quoter.domain.market import Market


class LoadMarket:
    def __init__(self, known: PostgresKnownMarket, market: Market) -> None:
        self._known = known
        self._market = market
        self.is_loaded = False

    async def __call__(self) -> None:
        known = await self._known.read()
        self._market.inventory, self._market.completion_milliseconds = known
        self.is_loaded = True
