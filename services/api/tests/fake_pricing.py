"""A quoter without I/O. `test_pricing_contract.py` compares it with the real client."""

from __future__ import annotations

from collections.abc import Mapping

from api_factories import E18, a_quote

from swap_api.http.examples import example_of
from swap_api.swaps.ports import PriceRefused
from swap_contracts.explaining import QuoterExplanationModel
from swap_contracts.quoting import (
    AssetRef,
    LimitsAnswer,
    PathStep,
    Price,
    PriceRange,
    PricesAnswer,
    QuoteAnswer,
    QuoteQuestion,
    RangesAnswer,
    RouteQuestion,
)
from swap_domain.catalogue import NATIVE, Catalogue
from swap_runtime.errors import Unavailable

USD: Mapping[str, int] = {"ETH": 3000 * E18, "USDC": E18, "DAI": E18}


class FakePricing:
    """A fee of one percent, for amounts from a thousandth of a token to a million."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.is_away = False
        self.is_empty = False  # nothing can be paid
        self.refusal: PriceRefused | None = None
        self.provider = "SOLVER"
        self.questions = 0
        self.last: QuoteQuestion | None = None
        self.requests = 0  # over HTTP, for contracts that use it

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer:
        self._answer()
        self.last = question
        source = self._asset(question.source_network, question.source_token)
        destination = self._asset(question.destination_network, question.destination_token)
        base_units = int(question.base_units)
        if question.receive_base_units is not None:
            base_units = self._amount_for(int(question.receive_base_units), source, destination)
        limits = self._limits(source)
        if base_units < int(limits.min_base_units) and not question.is_open:
            raise PriceRefused("LESS_THAN_MIN_ERROR", "Too little", int(limits.min_base_units))
        if base_units > int(limits.max_base_units):
            raise PriceRefused("GREATER_THAN_MAX_ERROR", "Too much", int(limits.max_base_units))
        fee = base_units // 100
        worth = (base_units - fee) * self._usd(source) * 10**destination.decimals
        receive = worth // (self._usd(destination) * 10**source.decimals)
        quote = a_quote(
            source=source,
            destination=destination,
            requested_base_units=str(base_units),
            receive_base_units=str(receive),
            min_receive_base_units=str(receive * 99 // 100),
            blockchain_fee_base_units="0",
            service_fee_base_units=str(fee),
            total_fee_base_units=str(fee),
            source_usd_e18=str(self._usd(source)),
            destination_usd_e18=str(self._usd(destination)),
            slippage_ppm=question.slippage_ppm or 5000,
            path=({"provider": self.provider, "order": 1},),
        )
        explanation = None
        if question.explain:
            explanation = QuoterExplanationModel.model_validate(example_of(QuoterExplanationModel))
        return QuoteAnswer(quote=quote, lifetime_seconds=300, explanation=explanation)

    async def limits(self, question: RouteQuestion) -> LimitsAnswer:
        self._answer()
        return self._limits(self._asset(question.source_network, question.source_token))

    async def ranges(self, question: RouteQuestion) -> RangesAnswer:
        self._answer()
        limits = self._limits(self._asset(question.source_network, question.source_token))
        ends = int(limits.min_base_units), int(limits.max_base_units)
        one = PriceRange(
            min_base_units=str(ends[0]),
            max_base_units=str(ends[1]),
            min_fee_base_units=str(ends[0] // 100),
            max_fee_base_units=str(ends[1] // 100),
            fixed_fee_base_units="0",
            service_fee_basis_points=100,
            completion_milliseconds=10_000,
            path=(PathStep(provider=self.provider, order=1),),
        )
        ranges = () if self.is_empty else (one,)
        return RangesAnswer(ranges=ranges, source_usd_e18=limits.source_usd_e18)

    async def prices(self) -> PricesAnswer:
        self._answer()
        prices = [
            Price(network=name, token=token.address, usd_e18=str(USD[token.symbol]))
            for name, network in self._catalogue.networks.items()
            for token in network.tokens
        ]
        return PricesAnswer(prices=tuple(prices))

    def _answer(self) -> None:
        self.questions += 1
        if self.is_away:
            raise Unavailable("quoter")
        if self.refusal is not None:
            raise self.refusal

    def _amount_for(self, receive: int, source: AssetRef, destination: AssetRef) -> int:
        worth = receive * self._usd(destination) * 10**source.decimals * 100
        amount: int = -(-worth // (self._usd(source) * 10**destination.decimals * 99))
        return amount

    def _limits(self, source: AssetRef) -> LimitsAnswer:
        return LimitsAnswer(
            min_base_units=str(10 ** (source.decimals - 3)),
            max_base_units=str(10 ** (source.decimals + 6)),
            source_usd_e18=str(self._usd(source)),
        )

    def _asset(self, network: str, token: str) -> AssetRef:
        decimals = self._catalogue.network(network).token(token).decimals
        return AssetRef(network=network, token=token, decimals=decimals)

    def _usd(self, asset: AssetRef) -> int:
        return USD["ETH" if asset.token == NATIVE else "USDC"]
