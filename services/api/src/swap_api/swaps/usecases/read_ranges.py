from __future__ import annotations

from swap_api.model.keys import Caller
from swap_api.swaps.adapters.price_ranges import PriceRanges
from swap_api.swaps.decide.orders import PriceQuery, Route, find_route
from swap_api.swaps.usecases.fetch_price import FetchPrice
from swap_domain.catalogue import Catalogue


class ReadRanges:
    """Say what a route costs between which amounts, in detail or as the legacy endpoint does."""

    def __init__(self, catalogue: Catalogue, fetch_price: FetchPrice) -> None:
        self._catalogue = catalogue
        self._fetch_price = fetch_price

    async def __call__(self, caller: Caller, query: PriceQuery) -> bytes:
        """
        :raises ApiRefusal: when the route or the method is not served.
        """
        route = self._route(caller, query)
        query.check_numbers(route)
        fee = caller.allowances.fee_basis_points
        answer = await self._fetch_price.ranges(route, query, fee=fee)
        return PriceRanges(answer, route.source).render_details()

    async def rates(self, caller: Caller, query: PriceQuery) -> bytes:
        """
        :raises ApiRefusal: when the route is not served.
        """
        route = self._route(caller, query)
        fee = caller.allowances.fee_basis_points
        answer = await self._fetch_price.ranges(route, query, fee=fee)
        return PriceRanges(answer, route.source).rates()

    def _route(self, caller: Caller, query: PriceQuery) -> Route:
        route = find_route(self._catalogue, caller.environment, query.route)
        query.funding.check(route.source_network)
        return route
