"""Says between which amounts a route is open now."""

from __future__ import annotations

from swap_contracts.quoting import LimitsAnswer, RouteQuestion
from swap_quoter.domain.refusals import Method
from swap_quoter.domain.routes import Routes, check_method
from swap_quoter.domain.terms import TermsBook
from swap_runtime.clock import Clock


class GiveLimits:
    def __init__(self, routes: Routes, terms: TermsBook, *, clock: Clock) -> None:
        self._routes = routes
        self._terms = terms
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
        method = Method(question.method)
        check_method(route, method)
        terms = self._terms.get(route, refuel=question.refuel, now=self._clock(), method=method)
        return LimitsAnswer(
            min_base_units=str(terms.limits.min),
            max_base_units=str(terms.limits.max),
            source_usd_e18=str(terms.rates.source_usd_e18),
        )
