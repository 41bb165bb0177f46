"""Builds what stands at the public port: a part of the wiring with a page of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import version

from swap_api.adapters.random_ids import request_ids
from swap_api.domain.keys import Caller
from swap_api.domain.rate_limits import Rates
from swap_api.http.clients import Clients
from swap_api.http.cors import Cors
from swap_api.http.endpoints import Endpoints
from swap_api.http.error_page import error_page
from swap_api.http.errors import DEFAULT_DOCS, Errors
from swap_api.http.exchange import Answer
from swap_api.http.gateway import Gateway
from swap_api.http.idempotent_requests import IdempotentRequests
from swap_api.http.reference import reference_pages
from swap_api.http.shipped_openapi import shipped_openapi
from swap_api.http.unknown_names import UnknownNames
from swap_api.ports import Callers, Counters
from swap_api.settings import ApiGroup
from swap_api.usecases.identify_caller import IdentifyCaller
from swap_api.usecases.identify_member import IdentifyMember
from swap_api.usecases.limit_requests import LimitRequests


def build_gateway(
    table: Endpoints,
    group: ApiGroup,
    *,
    callers: Callers,
    counters: Counters,
    idempotent_requests: IdempotentRequests,
    unknown_names: UnknownNames,
    identify_member: IdentifyMember,
    anybody: Caller,
) -> Gateway:
    """
    :raises ValueError: when the settings weigh an endpoint that is not there.
    """
    rates = Rates(**group.rates.model_dump(exclude={"weights"}))
    gateway = Gateway(
        table.weighed(group.rates.weights),
        identify_caller=IdentifyCaller(callers, header=group.key_headers[0]),
        identify_member=identify_member,
        limit_requests=LimitRequests(counters, rates, is_lifted=group.limits_lifted),
        idempotent_requests=idempotent_requests,
        unknown_names=unknown_names,
        clients=Clients(group.trusted_proxies),
        cors=Cors(group.cors_origins, group.key_headers),
        errors=Errors(group.docs_url),
        key_headers=group.key_headers,
        anybody=anybody,
        new_request_id=request_ids(),
    )
    gateway.add_public("/openapi.json", _document(group))
    gateway.add_public(DEFAULT_DOCS, cache(error_page))
    for address, page in reference_pages().items():
        gateway.add_public(address, cache(page))
    return gateway


def _document(group: ApiGroup) -> Callable[[], Answer]:
    @cache
    def document() -> Answer:
        release = version("swap-api")
        return Answer(shipped_openapi(key_headers=group.key_headers, version=release))

    return document
