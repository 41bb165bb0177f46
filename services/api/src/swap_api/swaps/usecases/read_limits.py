from __future__ import annotations

from swap_api.model.keys import Caller
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.orders import PriceQuery, find_route
from swap_api.swaps.usecases.fetch_price import FetchPrice
from swap_domain.catalogue import Catalogue


class ReadLimits:
    """Say how little and how much a route takes."""

    def __init__(
        self, catalogue: Catalogue, fetch_price: FetchPrice, rendering: JsonRendering
    ) -> None:
        self._catalogue = catalogue
        self._fetch_price = fetch_price
        self._rendering = rendering

    async def __call__(self, caller: Caller, query: PriceQuery) -> bytes:
        """
        :raises ApiRefusal: when the route or the funding method is not served, when a number is
            malformed, or when the quoter does not answer.
        """
        route = find_route(self._catalogue, caller.environment, query.route)
        query.funding.check(route.source_network)
        query.check_numbers(route)
        answer = await self._fetch_price.limits(
            route, query, fee=caller.allowances.fee_basis_points
        )
        return self._rendering.limits(answer, route.source)
