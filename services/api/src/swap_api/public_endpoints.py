"""All endpoints of the public port. `http/operator_routes.py` has those of the internal port."""

from __future__ import annotations

from swap_api.funding.http.attachments import AttachmentEndpoints
from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.funding.http.routes import attachment_endpoints, authorization_endpoints
from swap_api.http.endpoints import Endpoint
from swap_api.http.idempotent_requests import with_idempotency_key
from swap_api.management.http.routes import ManagementHandlers, management
from swap_api.management.http.swaps import ManagedSwapEndpoints, managed_swap_endpoints
from swap_api.model.keys import Scope
from swap_api.pay_links.http.pay import PayEndpoints
from swap_api.pay_links.http.routes import pay_link_endpoints
from swap_api.swaps.http.catalogue import CatalogueEndpoints
from swap_api.swaps.http.history import HistoryEndpoints
from swap_api.swaps.http.pricing import PricingEndpoints
from swap_api.swaps.http.routes import (
    catalogue_endpoints,
    history_endpoints,
    pricing_endpoints,
    service_endpoints,
    swap_endpoints,
)
from swap_api.swaps.http.swaps import SwapEndpoints


class Handlers(ManagementHandlers):
    """What answers the addresses of the public port."""

    swaps: SwapEndpoints
    history: HistoryEndpoints
    pricing: PricingEndpoints
    catalogue: CatalogueEndpoints
    authorizations: AuthorizationEndpoints
    attachments: AttachmentEndpoints
    pay: PayEndpoints
    member_swaps: ManagedSwapEndpoints


def endpoints(handlers: Handlers) -> list[Endpoint]:
    """Return every endpoint of the public port except the OpenAPI document."""
    for_members = (
        endpoint for endpoint in management(handlers) if endpoint.scope is not Scope.OPERATOR
    )
    return [
        *map(with_idempotency_key, swap_endpoints(handlers["swaps"])),
        *map(with_idempotency_key, authorization_endpoints(handlers["authorizations"])),
        *map(with_idempotency_key, attachment_endpoints(handlers["attachments"])),
        *history_endpoints(handlers["history"]),
        *pay_link_endpoints(handlers["pay"]),
        *pricing_endpoints(handlers["pricing"]),
        *service_endpoints(handlers["pricing"]),
        *catalogue_endpoints(handlers["catalogue"]),
        *map(with_idempotency_key, for_members),
        *map(with_idempotency_key, managed_swap_endpoints(handlers["member_swaps"])),
    ]
