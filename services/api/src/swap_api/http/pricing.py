"""What a swap would cost, and how little or much a route takes."""

from __future__ import annotations

from typing import Final, get_args

from swap_api.domain.refusals import Invalid
from swap_api.http.endpoints import Context
from swap_api.http.errors import Errors
from swap_api.http.exchange import Answer, Request
from swap_api.http.parameters import NetworksParameters, PriceParameters, parse_query
from swap_api.http.swaps import price_asked
from swap_api.usecases.give_limits import GiveLimits
from swap_api.usecases.give_quote import GiveQuote
from swap_api.usecases.list_networks import ListNetworks
from swap_contracts.public.models import NetworkType

NETWORK_TYPES: Final = frozenset(get_args(NetworkType))
WELL: Final = b'{"status":"ok"}'


class PricingEndpoints:
    def __init__(
        self,
        *,
        give_quote: GiveQuote,
        give_limits: GiveLimits,
        list_networks: ListNetworks,
        errors: Errors,
    ) -> None:
        self._give_quote = give_quote
        self._give_limits = give_limits
        self._list_networks = list_networks
        self._errors = errors.catalogue()

    async def quote(self, request: Request, context: Context) -> Answer:
        asked = price_asked(parse_query(PriceParameters, request.query))
        return Answer.of(await self._give_quote(context.caller, asked))

    async def limits(self, request: Request, context: Context) -> Answer:
        asked = price_asked(parse_query(PriceParameters, request.query))
        return Answer.of(await self._give_limits(context.caller, asked))

    async def networks(self, request: Request, context: Context) -> Answer:
        asked = parse_query(NetworksParameters, request.query)
        types = frozenset(name.lower() for name in asked.network_types)
        if unknown := types - NETWORK_TYPES:
            raise Invalid.field("network_types", f"has an unknown value: {min(unknown)}")
        return Answer.of(self._list_networks(context.caller, types))

    async def errors(self, request: Request, context: Context) -> Answer:
        return Answer.of(self._errors)

    async def health(self, request: Request, context: Context) -> Answer:
        """Answer from the process alone: what it needs is asked at /readyz."""
        return Answer.of(WELL)
