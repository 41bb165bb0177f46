"""Prices one amount on one route. No I/O: everything is in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache

from swap_contracts.quoting import AssetRef, PathStep, Quote, QuoteAnswer, QuoteQuestion
from swap_domain.catalogue import Token
from swap_quoter.domain.limits import check_amount
from swap_quoter.domain.market import Market
from swap_quoter.domain.pricing import PricedAmount, Rates, amount_for, price
from swap_quoter.domain.refusals import SlippageTooLarge
from swap_quoter.domain.routes import Route, expected_milliseconds
from swap_quoter.domain.terms import Terms
from swap_quoter.usecases.explain_quotes import ExplainQuotes
from swap_quoter.usecases.find_terms import FindTerms

SLIPPAGE_PPM_MAX = 800_000  # at this much a caller would accept almost nothing
OWN_INVENTORY = (PathStep(provider="SOLVER", order=0),)
NO_DISCOUNT = "0"
SECOND = timedelta(seconds=1)
UNKNOWN = PricedAmount(requested=0, receive=0, min_receive=0, blockchain_fee=0, service_fee=0)


class GiveQuotes:
    def __init__(
        self, find_terms: FindTerms, market: Market, explain_quotes: ExplainQuotes
    ) -> None:
        self._find_terms = find_terms
        self._market = market
        self._explain_quotes = explain_quotes
        # Of each route, by the terms that they were rendered for.
        self._standing: dict[int, tuple[Terms, Mapping[str, object]]] = {}

    def __call__(self, question: QuoteQuestion) -> QuoteAnswer:
        """
        :raises Refusal: with the reason.
        """
        route, terms = self._find_terms(question)
        slippage_ppm = _slippage(route, question.slippage_ppm)
        priced = _price_amount(route, terms, question, slippage_ppm)
        milliseconds = expected_milliseconds(route, self._market)
        explanation = None
        if question.explain:
            explanation = self._explain_quotes(question, route, terms, priced, slippage_ppm)
        return QuoteAnswer.from_trusted(
            {
                "quote": self._quote(route, terms, priced, slippage_ppm, milliseconds),
                "lifetime_seconds": route.rule.quote_lifetime // SECOND,
                "explanation": explanation,
            }
        )

    def _quote(
        self, route: Route, terms: Terms, priced: PricedAmount, slippage_ppm: int, milliseconds: int
    ) -> Quote:
        # Not validated: a quote is requested hundreds of times a second, and tests read it back.
        return Quote.from_trusted(
            {
                **self._standing_of(route, terms),
                "requested_base_units": str(priced.requested),
                "receive_base_units": str(priced.receive),
                "min_receive_base_units": str(priced.min_receive),
                "blockchain_fee_base_units": str(priced.blockchain_fee),
                "service_fee_base_units": str(priced.service_fee),
                "total_fee_base_units": str(priced.total_fee),
                "slippage_ppm": slippage_ppm,
                "completion_milliseconds": milliseconds,
                "partner_fee_base_units": str(priced.partner_fee),
            }
        )

    def _standing_of(self, route: Route, terms: Terms) -> Mapping[str, object]:
        known = self._standing.get(id(route))  # routes exist as long as the process
        if known is None or known[0] is not terms:
            known = self._standing[id(route)] = terms, _standing(route, terms.rates)
        return known[1]


def _price_amount(
    route: Route, terms: Terms, question: QuoteQuestion, slippage_ppm: int
) -> PricedAmount:
    """Price the amount; one that is not known yet is priced when it has come."""
    if question.is_open:
        check_amount(terms.limits.min, terms.limits)
        return UNKNOWN
    if question.receive_base_units is None:
        base_units = int(question.base_units)
    else:
        base_units = amount_for(route, terms.rates, int(question.receive_base_units))
    check_amount(base_units, terms.limits)
    return price(terms.rates, base_units, slippage_ppm=slippage_ppm)


def _slippage(route: Route, asked_ppm: int | None) -> int:
    if asked_ppm is None:
        return route.rule.slippage_ppm
    if not 0 <= asked_ppm < SLIPPAGE_PPM_MAX:
        raise SlippageTooLarge
    return asked_ppm


def _standing(route: Route, rates: Rates) -> Mapping[str, object]:
    """Return what is the same in every quote of a route until its terms move."""
    refuel = rates.refuel
    return {
        "source": _ref(route.source),
        "destination": _ref(route.destination),
        "fee_discount_base_units": NO_DISCOUNT,
        "refuel_in_source_base_units": str(refuel.in_source) if refuel else None,
        "refuel_base_units": str(refuel.base_units) if refuel else None,
        "source_usd_e18": str(rates.source_usd_e18),
        "destination_usd_e18": str(rates.destination_usd_e18),
        "source_native_usd_e18": str(rates.source_native_usd_e18),
        "destination_native_usd_e18": str(rates.destination_native_usd_e18),
        "path": OWN_INVENTORY,
        "partner_fee_basis_points": rates.partner_fee_basis_points,
    }


def _ref(token: Token) -> AssetRef:
    # By the three identifying fields: the hash of a whole token costs more than the lookup.
    return _asset(token.network, token.address, token.decimals)


@cache
def _asset(network: str, token: str, decimals: int) -> AssetRef:
    return AssetRef(network=network, token=token, decimals=decimals)
