"""Says between which amounts a route is open now."""

from __future__ import annotations

from swap_contracts.quoting import LimitsAnswer, RouteQuestion
from swap_quoter.domain.limits import limits_of
from swap_quoter.domain.market import Market
from swap_quoter.domain.pricing import rates_of
from swap_quoter.domain.refusals import Method
from swap_quoter.domain.routes import Routes, check_method
from swap_runtime.clock import Clock


class GiveLimits:
    def __init__(
        self, routes: Routes, market: Market, *, refuel_usd_e18: int, clock: Clock
    ) -> None:
        self._routes = routes
        self._market = market
        self._refuel_usd_e18 = refuel_usd_e18
        self._clock = clock

    def __call__(self, question: RouteQuestion) -> LimitsAnswer:
        """
        :raises Refusal: with the reason.
        """
        route = self._routes.get(
            question.source_network,
            question.source_token,
            question.destination_network,
            question.destination_token,
        )
        check_method(route, Method(question.method))
        refuel = self._refuel_usd_e18 if question.refuel else None
        rates = rates_of(route, self._market, refuel_usd_e18=refuel, now=self._clock())
        limits = limits_of(route, rates, self._market)
        return LimitsAnswer(
            min_base_units=str(limits.min),
            max_base_units=str(limits.max),
            source_usd_e18=str(rates.source_usd_e18),
        )
