"""Returns the cost of a route between amounts."""

from __future__ import annotations

from swap_contracts.quoting import PriceRange, RangesAnswer, RouteQuestion
from swap_quoter.domain.market import Market
from swap_quoter.domain.pricing import price
from swap_quoter.domain.routes import Route, expected_milliseconds
from swap_quoter.domain.terms import Terms
from swap_quoter.usecases.find_terms import FindTerms
from swap_quoter.usecases.give_quotes import OWN_INVENTORY


class GiveRanges:
    """Own inventory prices every amount alike, so that there is one range, or none."""

    def __init__(self, find_terms: FindTerms, market: Market) -> None:
        self._find_terms = find_terms
        self._market = market

    def __call__(self, question: RouteQuestion) -> RangesAnswer:
        """
        :raises Refusal: with the reason.
        """
        route, terms = self._find_terms(question)
        is_open = terms.limits.min <= terms.limits.max
        return RangesAnswer(
            ranges=(self._range(route, terms),) if is_open else (),
            source_usd_e18=str(terms.rates.source_usd_e18),
        )

    def _range(self, route: Route, terms: Terms) -> PriceRange:
        ends = (terms.limits.min, terms.limits.max)
        least, most = (
            price(terms.rates, end, slippage_ppm=route.rule.slippage_ppm) for end in ends
        )
        return PriceRange(
            min_base_units=str(least.requested),
            max_base_units=str(most.requested),
            min_fee_base_units=str(least.total_fee),
            max_fee_base_units=str(most.total_fee),
            fixed_fee_base_units=str(least.blockchain_fee),
            service_fee_basis_points=terms.rates.fee_basis_points,
            completion_milliseconds=expected_milliseconds(route, self._market),
            path=OWN_INVENTORY,
        )
