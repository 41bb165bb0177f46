from __future__ import annotations

from swap_api.model.addresses import AddressRules
from swap_api.model.keys import Caller
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.orders import NamedParties, PriceQuery, caching_route_finder
from swap_api.swaps.usecases.fetch_price import FetchPrice
from swap_api.swaps.usecases.screen_parties import ScreenParties
from swap_domain.catalogue import Catalogue


class ReadQuote:
    """Price a swap before it is created."""

    def __init__(
        self,
        catalogue: Catalogue,
        fetch_price: FetchPrice,
        rendering: JsonRendering,
        screen_parties: ScreenParties,
    ) -> None:
        self._screen_parties = screen_parties
        self._addresses = AddressRules(catalogue)
        self._find_route = caching_route_finder(catalogue)
        self._fetch_price = fetch_price
        self._rendering = rendering

    async def __call__(
        self,
        caller: Caller,
        query: PriceQuery,
        named: NamedParties | None = None,
        *,
        explain: bool = False,
    ) -> bytes:
        """
        :param explain: whether to say why it is what it is.
        :raises ApiRefusal: when the route, the amount or the method is not served, or an address
            is none that a swap could have.
        """
        route = self._find_route(caller.environment, query.route)
        query.funding.check(route.source_network)
        if named is not None:
            named.with_checksums(route, self._addresses)
            await self._screen_parties(named.on(route))
        answer = await self._fetch_price.quote(
            route, query, fee=caller.allowances.fee_basis_points, explain=explain
        )
        if answer.explanation is None:
            return self._rendering.render_quote(answer.quote)
        return self._rendering.render_explanation(
            answer.quote, answer.explanation, query.read_amount(route)
        )
