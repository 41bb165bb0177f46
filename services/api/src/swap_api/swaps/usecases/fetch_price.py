from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from swap_api import observe
from swap_api.funding.usecases.offer_depository import OfferDepository
from swap_api.funding.usecases.offer_gasless import OfferGasless
from swap_api.model.refusals import ApiRefusal, field_errors_of
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.amounts import decimal_text
from swap_api.swaps.decide.orders import PriceQuery, Route
from swap_api.swaps.ports import PriceRefused, Pricing
from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import (
    LimitsAnswer,
    QuoteAnswer,
    QuoteQuestion,
    RangesAnswer,
    RouteQuestion,
)
from swap_runtime.errors import Unavailable

Answer = TypeVar("Answer")
AMOUNTS: Final = {
    ErrorCode.LESS_THAN_MIN_ERROR: "is below the minimum",
    ErrorCode.GREATER_THAN_MAX_ERROR: "is above the maximum",
    ErrorCode.INSUFFICIENT_LIQUIDITY: "is more than can be paid now",
}
LIMITS: Final = {
    ErrorCode.LESS_THAN_MIN_ERROR: "the smallest is",
    ErrorCode.GREATER_THAN_MAX_ERROR: "the largest is",
    ErrorCode.INSUFFICIENT_LIQUIDITY: "the most that can be paid now is",
}


class FetchPrice:
    """Ask the quoter, and say its refusals in public words."""

    def __init__(
        self,
        pricing: Pricing,
        rendering: JsonRendering,
        *,
        gasless: OfferGasless,
        depository: OfferDepository,
    ) -> None:
        self._gasless = gasless
        self._depository = depository
        self._pricing = pricing
        self._rendering = rendering

    async def quote(
        self,
        route: Route,
        query: PriceQuery,
        *,
        fee: int,
        may_be_open: bool = False,
        explain: bool = False,
    ) -> QuoteAnswer:
        """
        :param fee: what the app takes for itself, in basis points.
        :param may_be_open: whether there need be no amount, where the funding method allows that.
        :raises ApiRefusal: when it cannot be priced, or the quoter is away.
        """
        self._check_method(route, query)
        is_open = may_be_open and query.is_open
        paid_in, received = (0, None) if is_open else query.amounts(route)
        question = QuoteQuestion(
            **_of_route(route, query, fee),
            base_units=str(paid_in),
            receive_base_units=None if received is None else str(received),
            is_open=is_open,
            slippage_ppm=query.slippage_ppm(),
            explain=explain,
        )
        return await self._answer_or_refusal(route, query, self._pricing.quote(question))

    async def limits(self, route: Route, query: PriceQuery, *, fee: int) -> LimitsAnswer:
        """
        :raises ApiRefusal: when the route has no limits, or the quoter is away.
        """
        self._check_method(route, query)
        question = RouteQuestion(**_of_route(route, query, fee))
        return await self._answer_or_refusal(route, query, self._pricing.limits(question))

    async def ranges(self, route: Route, query: PriceQuery, *, fee: int) -> RangesAnswer:
        """
        :raises ApiRefusal: when the route has no price, or the quoter is away.
        """
        self._check_method(route, query)
        question = RouteQuestion(**_of_route(route, query, fee))
        return await self._answer_or_refusal(route, query, self._pricing.ranges(question))

    def _check_method(self, route: Route, query: PriceQuery) -> None:
        if query.funding.use_gasless:
            self._gasless.require(route.source_network, route.source)
        elif query.funding.use_depository:
            self._depository.require(route.source_network)

    async def _answer_or_refusal(
        self, route: Route, query: PriceQuery, answer: Awaitable[Answer]
    ) -> Answer:
        try:
            return await answer
        except PriceRefused as refused:
            raise self._refusal(route, query, refused) from refused
        except Unavailable as error:
            observe.quoter_unavailable(error)
            raise ApiRefusal(
                ErrorCode.SERVICE_UNAVAILABLE,
                "Prices are not available for the moment; try again soon",
                headers={"retry-after": "1"},
            ) from error

    def _refusal(self, route: Route, query: PriceQuery, refused: PriceRefused) -> ApiRefusal:
        if refused.code not in ErrorCode.__members__:
            raise ValueError(f"the quoter refuses with {refused.code!r}") from refused
        code = ErrorCode[refused.code]
        metadata: dict[str, Any] = {}
        if code in AMOUNTS:
            named = "amount" if query.receive_amount is None else "receive_amount"
            metadata |= field_errors_of(**{named: AMOUNTS[code]})
        limit, message = refused.limit_base_units, refused.message
        if limit is not None:
            is_minimum = code is ErrorCode.LESS_THAN_MIN_ERROR
            metadata["AmountLimit"] = self._rendering.amount(
                limit, route.source, is_minimum=is_minimum
            )
            message = (
                f"{message}: {LIMITS[code]} {_limit_text(limit, route, is_minimum=is_minimum)}"
            )
        return ApiRefusal(code, message, metadata=metadata)


def _limit_text(base_units: int, route: Route, *, is_minimum: bool) -> str:
    """Return a limit as text in the source token, rounded to its inner side."""
    token = route.source
    unit = 10 ** (token.decimals - token.precision)
    cut = base_units % unit
    inner = base_units - cut + (unit if cut and is_minimum else 0)
    return f"{decimal_text(inner, token.decimals)} {token.symbol}"


def _of_route(route: Route, query: PriceQuery, fee: int) -> dict[str, Any]:
    """Return the members of every question."""
    return {
        "source_network": route.source_network.name,
        "source_token": route.source.address,
        "destination_network": route.destination_network.name,
        "destination_token": route.destination.address,
        "method": query.funding.method,
        "refuel": query.refuel,
        "partner_fee_basis_points": fee,
    }
