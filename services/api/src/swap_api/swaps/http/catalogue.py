"""What this deployment serves, and how it is: networks, ends of swaps, and exchanges."""

from __future__ import annotations

from typing import Final, get_args

import orjson
from starlette.responses import Response

from swap_api.http.conditional import conditional
from swap_api.http.endpoints import Context
from swap_api.http.parameters import (
    DestinationsParameters,
    NetworksParameters,
    ReachParameters,
    SourcesParameters,
    parse_query,
)
from swap_api.http.requests import Request
from swap_api.http.responses import data_response
from swap_api.model.refusals import Invalid
from swap_api.swaps.decide.reach import ReachQuery, Side, TokenStatus
from swap_api.swaps.usecases.list_networks import ListNetworks
from swap_api.swaps.usecases.list_reachable import ListReachable
from swap_api.swaps.usecases.report_status import ReportStatus
from swap_contracts.public.lookups import PublicNetworkStatusModel
from swap_contracts.public.models import NetworkType

NETWORK_TYPES: Final = frozenset(get_args(NetworkType))
NONE: Final = b"[]"
PUBLIC: Final = tuple(PublicNetworkStatusModel.model_fields)


class CatalogueEndpoints:
    def __init__(
        self,
        *,
        list_networks: ListNetworks,
        list_reachable: ListReachable,
        report_status: ReportStatus,
    ) -> None:
        self._list_networks = list_networks
        self._list_reachable = list_reachable
        self._report_status = report_status

    async def status(self, request: Request, context: Context) -> Response:
        return data_response(await self._report_status(context.caller))

    async def public_status(self, request: Request, context: Context) -> Response:
        """Answer without a key: without the data of providers and their caps."""
        networks = orjson.loads(await self._report_status(context.caller))["networks"]
        shown = [{name: one[name] for name in PUBLIC} for one in networks]
        return data_response(orjson.dumps({"networks": shown}))

    async def networks(self, request: Request, context: Context) -> Response:
        parameters = parse_query(NetworksParameters, request.query)
        return conditional(request, self._list_networks(context.caller, _types(parameters)))

    async def sources(self, request: Request, context: Context) -> Response:
        parameters = parse_query(SourcesParameters, request.query)
        wanted = _to_query(parameters, parameters.destination_network, parameters.destination_token)
        return data_response(self._list_reachable(context.caller, Side.SOURCE, wanted))

    async def destinations(self, request: Request, context: Context) -> Response:
        parameters = parse_query(DestinationsParameters, request.query)
        wanted = _to_query(parameters, parameters.source_network, parameters.source_token)
        return data_response(self._list_reachable(context.caller, Side.DESTINATION, wanted))

    async def source_exchanges(self, request: Request, context: Context) -> Response:
        """Answer with none: no catalogue names exchanges."""
        return data_response(NONE)

    async def withdrawal_networks(self, request: Request, context: Context) -> Response:
        """Answer with none, as there are no exchanges."""
        return data_response(NONE)


def _to_query(parameters: ReachParameters, network: str | None, token: str | None) -> ReachQuery:
    statuses = {TokenStatus.ACTIVE}
    if parameters.include_unavailable:
        statuses.add(TokenStatus.INACTIVE)
    if parameters.include_unmatched:
        statuses.add(TokenStatus.NOT_FOUND)
    return ReachQuery(
        network=network,
        token=token,
        network_types=_types(parameters),
        statuses=frozenset(statuses),
        via_deposit_address=parameters.has_deposit_address
        or parameters.include_swaps_via_deposit_address,
    )


def _types(parameters: NetworksParameters) -> frozenset[str]:
    types = frozenset(name.lower() for name in parameters.network_types)
    if unknown := types - NETWORK_TYPES:
        raise Invalid.field("network_types", f"has an unknown value: {min(unknown)}")
    return types
