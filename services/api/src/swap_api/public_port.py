"""Builds the application of the public port."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version

from starlette.routing import Router

from swap_api.admission.build import AdmissionParts
from swap_api.admission.usecases.identify_caller import IdentifyCaller
from swap_api.admission.usecases.limit_requests import LimitRequests
from swap_api.http.admission import Admission
from swap_api.http.app import EndpointApps, Page, public_app
from swap_api.http.clients import Clients
from swap_api.http.cors import CorsRules
from swap_api.http.endpoints import Endpoint
from swap_api.http.error_page import error_page
from swap_api.http.errors import DEFAULT_DOCS, Errors
from swap_api.http.reference import reference_pages
from swap_api.http.responses import JsonResponse
from swap_api.http.shipped_openapi import shipped_openapi
from swap_api.random_ids import request_ids
from swap_api.request_log.decide.records import AnsweredRequest
from swap_api.settings import ApiGroup


def build_public_app(
    endpoints: Sequence[Endpoint],
    group: ApiGroup,
    *,
    apps: EndpointApps,
    parts: AdmissionParts,
    record: Callable[[AnsweredRequest], None],
) -> Router:
    """
    :param endpoints: with the weights that the settings give them.
    """
    admission = Admission(
        identify_caller=IdentifyCaller(parts.callers, header=group.key_headers[0]),
        identify_member=parts.identify_member,
        limit_requests=LimitRequests(parts.counters, parts.rates, is_lifted=group.limits_lifted),
        link_tokens=parts.link_tokens,
        clients=Clients(group.trusted_proxies),
        key_headers=group.key_headers,
        anonymous_caller=parts.keyless_caller,
    )
    return public_app(
        endpoints,
        {path: cache(page) for path, page in _pages(group).items()},
        apps=apps,
        admission=admission,
        cors=CorsRules(group.cors_origins, group.key_headers),
        errors=Errors(group.docs_url),
        new_request_id=request_ids(),
        record=record,
    )


def _pages(group: ApiGroup) -> Mapping[str, Page]:
    def document() -> JsonResponse:
        release = version("swap-api")
        return JsonResponse(shipped_openapi(key_headers=group.key_headers, version=release))

    return {"/openapi.json": document, DEFAULT_DOCS: error_page, **reference_pages()}
