"""What a swap would cost, and how little or much a route takes."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

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
from swap_api.http.responses import data_response
from swap_api.model.keys import Scope
from swap_api.swaps.decide.orders import Funding, NamedParties, PriceQuery, RouteQuery
from swap_api.swaps.http.swaps import price_query
from swap_api.swaps.usecases.read_limits import ReadLimits
from swap_api.swaps.usecases.read_quote import ReadQuote
from swap_api.swaps.usecases.read_ranges import ReadRanges

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
        parameters = parse_query(QuoteParameters, request.query)
        if parameters.explain:  # it shows inventory and margins, which browsers must not see
            context.caller.require(Scope.SECRET)
        named = NamedParties(parameters.destination_address, parameters.source_address)
        query, caller = price_query(parameters), context.caller
        return data_response(
            await self._read_quote(caller, query, named, explain=parameters.explain)
        )

    async def limits(self, request: Request, context: Context) -> Response:
        query = price_query(parse_query(PriceParameters, request.query))
        return data_response(await self._read_limits(context.caller, query))

    async def detailed_quote(self, request: Request, context: Context) -> Response:
        query = price_query(parse_query(PriceParameters, request.query))
        return data_response(await self._read_ranges(context.caller, query))

    async def rates(self, request: Request, context: Context) -> Response:
        body, _ = parse_body(RateBody, await request.json_object())
        route = RouteQuery(
            body.source,
            body.source_asset,
            body.destination,
            body.destination_asset or body.source_asset,
        )
        query = PriceQuery(route, Funding(), refuel=body.refuel, amount=None, slippage=None)
        return data_response(await self._read_ranges.rates(context.caller, query))

    async def errors(self, request: Request, context: Context) -> Response:
        return data_response(self._errors)

    async def health(self, request: Request, context: Context) -> Response:
        """Answer from the process alone; /readyz checks its dependencies."""
        return data_response(WELL)
