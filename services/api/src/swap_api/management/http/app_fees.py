"""What an app earns by its own fee, over HTTP."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import id_of, parse_query
from swap_api.http.requests import Request
from swap_api.management.decide.app_fees import FeeFilter
from swap_api.management.http.answers import actor_of, json_response, listed_without_pages
from swap_api.management.http.fee_rendering import render_balance, render_entry
from swap_api.management.http.parameters import FeeEntriesParameters
from swap_api.management.usecases.read_app_fees import ReadAppFees
from swap_api.model.refusals import Invalid
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue import Catalogue

ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")


class AppFeeEndpoints:
    def __init__(
        self, read_app_fees: ReadAppFees, catalogue: Catalogue, public: PublicCatalogue
    ) -> None:
        self._read_app_fees = read_app_fees
        self._catalogue = catalogue
        self._public = public

    async def fees(self, request: Request, context: Context) -> Response:
        found = await self._read_app_fees(id_of(request, "appId"), actor=actor_of(context))
        return json_response([render_balance(balance, self._public) for balance in found])

    async def entries(self, request: Request, context: Context) -> Response:
        parameters = parse_query(FeeEntriesParameters, request.query)
        wanted = self._to_filter(id_of(request, "appId"), parameters)
        page = await self._read_app_fees.list(wanted, actor=actor_of(context))
        rows = [render_entry(entry, self._public) for entry in page.entries]
        return listed_without_pages(request, rows, has_more=page.has_more)

    def _to_filter(self, app_id: UUID, parameters: FeeEntriesParameters) -> FeeFilter:
        return FeeFilter(
            app_id=app_id,
            page_size=parameters.page_size,
            kind=parameters.kind,
            asset=self._asset(parameters.network, parameters.token),
            starting_after=parameters.starting_after,
        )

    def _asset(self, network: str | None, token: str | None) -> tuple[str, str] | None:
        """
        An address is taken as it is stored: a token that has left the catalogue has no other name.

        :raises Invalid: when one of them is missing, or there is no such token.
        """
        if network is None and token is None:
            return None
        if network is None or token is None:
            missing = "network" if network is None else "token"
            raise Invalid.field(missing, "is missing: network and token are named together")
        on = self._catalogue.find_network(network)
        named = None if on is None else on.find_token(token)
        if named is None and ADDRESS.fullmatch(token):
            return network if on is None else on.name, token
        if on is None or named is None:
            raise Invalid.field("token", "is not in the catalogue on this network")
        return on.name, named.address
