"""What a swap would cost, and how little or much a route takes."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from swap_api.domain.keys import Scope
from swap_api.domain.orders import Funding, NamedParties, PriceQuery, RouteQuery
from swap_api.http.endpoints import Context
from swap_api.http.errors import Errors
from swap_api.http.parameters import (
    PriceParameters,
    QuoteParameters,
    RateBody,
    parse_body,
    parse_query,
)
from swap_api.http.requests import Request
from swap_api.http.responses import enveloped
from swap_api.http.swaps import price_query
from swap_api.usecases.read_limits import ReadLimits
from swap_api.usecases.read_quote import ReadQuote
from swap_api.usecases.read_ranges import ReadRanges

WELL: Final = b'{"status":"ok"}'


class PricingEndpoints:
    def __init__(
        self,
        *,
        read_quote: ReadQuote,
        read_limits: ReadLimits,
        read_ranges: ReadRanges,
        errors: Errors,
    ) -> None:
        self._read_quote = read_quote
        self._read_limits = read_limits
        self._read_ranges = read_ranges
        self._errors = errors.catalogue()

    async def quote(self, request: Request, context: Context) -> Response:
        told = parse_query(QuoteParameters, request.query)
        if told.explain:  # it tells what we hold and earn, which is not for every browser
            context.caller.require(Scope.SECRET)
        named = NamedParties(told.destination_address, told.source_address)
        asked, caller = price_query(told), context.caller
        return enveloped(await self._read_quote(caller, asked, named, explain=told.explain))

    async def limits(self, request: Request, context: Context) -> Response:
        asked = price_query(parse_query(PriceParameters, request.query))
        return enveloped(await self._read_limits(context.caller, asked))

    async def detailed_quote(self, request: Request, context: Context) -> Response:
        asked = price_query(parse_query(PriceParameters, request.query))
        return enveloped(await self._read_ranges(context.caller, asked))

    async def rates(self, request: Request, context: Context) -> Response:
        body, _ = parse_body(RateBody, await request.json_object())
        route = RouteQuery(
            body.source,
            body.source_asset,
            body.destination,
            body.destination_asset or body.source_asset,
        )
        asked = PriceQuery(route, Funding(), refuel=body.refuel, amount=None, slippage=None)
        return enveloped(await self._read_ranges.rates(context.caller, asked))

    async def errors(self, request: Request, context: Context) -> Response:
        return enveloped(self._errors)

    async def health(self, request: Request, context: Context) -> Response:
        """Answer from the process alone: what it needs is asked at /readyz."""
        return enveloped(WELL)
