"""Explains a quote: all of its inputs, and every intermediate integer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from swap_contracts.explaining import (
    ExplainedGasModel,
    ExplainedLimitsModel,
    ExplainedPriceModel,
    FeeRowModel,
    InventoryModel,
    PriceSourceModel,
    QuoterExplanationModel,
    RejectedModel,
    StepModel,
)
from swap_contracts.quoting import QuoteQuestion
from swap_domain.catalogue import Token
from swap_quoter.domain.explaining import steps_of
from swap_quoter.domain.limits import check_amount
from swap_quoter.domain.market import Market, TimedValue
from swap_quoter.domain.pricing import PricedAmount
from swap_quoter.domain.refusals import Method, Refusal
from swap_quoter.domain.routes import Route
from swap_quoter.domain.terms import Terms
from swap_quoter.usecases.find_terms import FindTerms
from swap_runtime.clock import Clock

PROVIDER = "SOLVER"
CodeOf = Callable[[Refusal], str]


class ExplainQuotes:
    def __init__(
        self, find_terms: FindTerms, market: Market, *, clock: Clock, code_of: CodeOf
    ) -> None:
        self._find_terms = find_terms
        self._market = market
        self._clock = clock
        self._code_of = code_of

    def __call__(
        self,
        question: QuoteQuestion,
        route: Route,
        terms: Terms,
        priced: PricedAmount,
        slippage_ppm: int,
    ) -> QuoterExplanationModel:
        now = self._clock()
        rule, limits, method = route.rule, terms.limits, Method(question.method)
        return QuoterExplanationModel(
            at=now,
            provider=PROVIDER,
            method=method.value,
            prices=self._prices(route, now),
            gas=self._gas(route, method, now),
            fees=FeeRowModel(
                service_fee_basis_points=rule.service_fee_basis_points,
                partner_fee_basis_points=terms.rates.partner_fee_basis_points,
                slippage_ppm=slippage_ppm,
                min_usd_e18=str(rule.min_usd_e18),
                max_usd_e18=str(rule.max_usd_e18),
                quote_lifetime_seconds=rule.quote_lifetime // timedelta(seconds=1),
            ),
            inventory=[self._inventory(t) for t in (route.destination, route.destination_native)],
            limits=ExplainedLimitsModel(
                min_base_units=str(limits.min),
                max_base_units=str(limits.max),
                route_max_base_units=str(limits.route_max),
                payable_max_base_units=str(limits.payable_max),
            ),
            steps=[
                StepModel(name=name, formula=formula, value=str(value))
                for name, formula, value in steps_of(
                    route, terms.rates, priced, slippage_ppm, _requested_amount(question)
                )
            ],
            rejected=self._rejected_methods(question, priced),
        )

    def _prices(self, route: Route, now: datetime) -> list[ExplainedPriceModel]:
        symbols = dict.fromkeys(token.price_symbol for token in route.tokens)
        known = ((symbol, self._market.prices[symbol]) for symbol in symbols)
        return [
            ExplainedPriceModel(
                symbol=symbol,
                usd_e18=str(price.value),
                at=price.at,
                age_milliseconds=_age(price, now),
                sources=self._sources(symbol),
            )
            for symbol, price in known
        ]

    def _sources(self, symbol: str) -> list[PriceSourceModel]:
        return [
            PriceSourceModel(source=source, usd_e18=str(prices[symbol].value), at=prices[symbol].at)
            for source, prices in self._market.prices_by_source.items()
            if symbol in prices
        ]

    def _gas(self, route: Route, method: Method, now: datetime) -> list[ExplainedGasModel]:
        units: dict[str, dict[str, int]] = {}
        for network, what, number in (
            (route.source.network, "deposit", route.deposit_gas(method)),
            (route.source.network, "refund", route.return_gas(method)),
            (route.destination.network, "payout", route.payout_gas),
            (route.destination.network, "refuel", route.refuel_gas),
        ):
            units.setdefault(network, {})[what] = number
        return [
            ExplainedGasModel(
                network=network,
                wei_per_unit=str(self._market.gas[network].value),
                at=self._market.gas[network].at,
                age_milliseconds=_age(self._market.gas[network], now),
                units=numbers,
            )
            for network, numbers in units.items()
        ]

    def _inventory(self, token: Token) -> InventoryModel:
        return InventoryModel(
            network=token.network,
            token=token.address,
            available_base_units=str(self._market.available(token)),
        )

    def _rejected_methods(
        self, question: QuoteQuestion, priced: PricedAmount
    ) -> list[RejectedModel]:
        """Try the other ways to fund the same amount; own inventory is the only provider."""
        rejected = []
        for method in Method:
            if method.value == question.method:
                continue
            other = question.model_copy(update={"method": method.value})
            try:
                _, terms = self._find_terms(other)
                check_amount(priced.requested, terms.limits)
            except Refusal as refusal:
                rejected.append(
                    RejectedModel(
                        provider=PROVIDER,
                        method=method.value,
                        code=self._code_of(refusal),
                        message=str(refusal),
                    )
                )
        return rejected


def _requested_amount(question: QuoteQuestion) -> int | None:
    receive_base_units = question.receive_base_units
    return None if receive_base_units is None else int(receive_base_units)


def _age(known: TimedValue, now: datetime) -> int:
    return (now - known.at) // timedelta(milliseconds=1)
