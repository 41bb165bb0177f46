"""Returns between which amounts a route is open now."""

from __future__ import annotations

from swap_contracts.quoting import LimitsAnswer, RouteQuestion
from swap_quoter.usecases.find_terms import FindTerms


class GiveLimits:
    def __init__(self, find_terms: FindTerms) -> None:
        self._find_terms = find_terms

    def __call__(self, question: RouteQuestion) -> LimitsAnswer:
        """
        :raises Refusal: with the reason.
        """
        _, terms = self._find_terms(question)
        return LimitsAnswer(
            min_base_units=str(terms.limits.min),
            max_base_units=str(terms.limits.max),
            source_usd_e18=str(terms.rates.source_usd_e18),
        )
