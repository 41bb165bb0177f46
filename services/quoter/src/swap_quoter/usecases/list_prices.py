"""Lists every price that is fresh."""

from __future__ import annotations

from swap_contracts.quoting import Price, PricesAnswer
from swap_quoter.domain.market import Market
from swap_quoter.domain.routes import Routes
from swap_runtime.clock import Clock


class ListPrices:
    def __init__(self, routes: Routes, market: Market, *, clock: Clock) -> None:
        self._routes = routes
        self._market = market
        self._clock = clock

    def __call__(self) -> PricesAnswer:
        now = self._clock()
        found = ((token, self._market.find_price(token, now=now)) for token in self._routes.tokens)
        return PricesAnswer(
            prices=tuple(
                Price(network=token.network, token=token.address, usd_e18=str(usd_e18))
                for token, usd_e18 in found
                if usd_e18 is not None
            )
        )
