"""What a swap would cost, and how little or much a route takes."""

from __future__ import annotations

from typing import Final

from swap_api.domain.keys import Scope
from swap_api.domain.orders import Funding, Named, PriceAsked, RouteAsked
from swap_api.http.endpoints import Context
from swap_api.http.errors import Errors
from swap_api.http.exchange import Answer, Request
from swap_api.http.parameters import (
    PriceParameters,
    QuoteParameters,
    RateBody,
    parse_body,
    parse_query,
)
from swap_api.http.swaps import price_asked
from swap_api.usecases.give_limits import GiveLimits
from swap_api.usecases.give_quote import GiveQuote
from swap_api.usecases.give_ranges import GiveRanges

WELL: Final = b'{"status":"ok"}'


class PricingEndpoints:
    def __init__(
        self,
        *,
        give_quote: GiveQuote,
        give_limits: GiveLimits,
        give_ranges: GiveRanges,
        errors: Errors,
    ) -> None:
        self._give_quote = give_quote
        self._give_limits = give_limits
        self._give_ranges = give_ranges
        self._errors = errors.catalogue()

    async def quote(self, request: Request, context: Context) -> Answer:
        told = parse_query(QuoteParameters, request.query)
        if told.explain:  # it tells what we hold and earn, which is not for every browser
            context.caller.require(Scope.SECRET)
        named = Named(told.destination_address, told.source_address)
        asked, caller = price_asked(told), context.caller
        return Answer.of(await self._give_quote(caller, asked, named, explain=told.explain))

    async def limits(self, request: Request, context: Context) -> Answer:
        asked = price_asked(parse_query(PriceParameters, request.query))
        return Answer.of(await self._give_limits(context.caller, asked))

    async def detailed_quote(self, request: Request, context: Context) -> Answer:
        asked = price_asked(parse_query(PriceParameters, request.query))
        return Answer.of(await self._give_ranges(context.caller, asked))

    async def rates(self, request: Request, context: Context) -> Answer:
        body, _ = parse_body(RateBody, await request.json_object())
        route = RouteAsked(
            body.source,
            body.source_asset,
            body.destination,
            body.destination_asset or body.source_asset,
        )
        asked = PriceAsked(route, Funding(), refuel=body.refuel, amount=None, slippage=None)
        return Answer.of(await self._give_ranges.rates(context.caller, asked))

    async def errors(self, request: Request, context: Context) -> Answer:
        return Answer.of(self._errors)

    async def health(self, request: Request, context: Context) -> Answer:
        """Answer from the process alone: what it needs is asked at /readyz."""
        return Answer.of(WELL)
