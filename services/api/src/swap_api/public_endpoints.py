"""All endpoints of the public port. `http/operator_routes.py` has those of the internal port."""

from __future__ import annotations

from swap_api.funding.http.attachments import AttachmentEndpoints
from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.funding.http.routes import attachment_endpoints, authorization_endpoints
from swap_api.http.endpoints import Endpoint
from swap_api.http.idempotent_requests import with_idempotency_key
from swap_api.management.http.app_fees import AppFeeEndpoints
from swap_api.management.http.app_limits import AppLimitEndpoints
from swap_api.management.http.figures import FigureEndpoints
from swap_api.management.http.members import MemberEndpoints
from swap_api.management.http.organizations import ManagementEndpoints
from swap_api.management.http.request_log import RequestLogEndpoints
from swap_api.management.http.routes import management
from swap_api.management.http.swaps import ManagedSwapEndpoints, managed_swap_endpoints
from swap_api.management.http.webhooks import WebhookEndpoints
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


def endpoints(
    swaps: SwapEndpoints,
    history: HistoryEndpoints,
    pricing: PricingEndpoints,
    catalogue: CatalogueEndpoints,
    *,
    authorizations: AuthorizationEndpoints,
    attachments: AttachmentEndpoints,
    pay: PayEndpoints,
    organizations: ManagementEndpoints,
    members: MemberEndpoints,
    webhooks: WebhookEndpoints,
    figures: FigureEndpoints,
    app_limits: AppLimitEndpoints,
    app_fees: AppFeeEndpoints,
    request_log: RequestLogEndpoints,
    member_swaps: ManagedSwapEndpoints,
) -> list[Endpoint]:
    """Return every endpoint of the public port except the OpenAPI document."""
    for_members = (
        endpoint
        for endpoint in management(
            organizations=organizations,
            members=members,
            webhooks=webhooks,
            figures=figures,
            app_limits=app_limits,
            app_fees=app_fees,
            request_log=request_log,
        )
        if endpoint.scope is not Scope.OPERATOR
    )
    return [
        *map(with_idempotency_key, swap_endpoints(swaps)),
        *map(with_idempotency_key, authorization_endpoints(authorizations)),
        *map(with_idempotency_key, attachment_endpoints(attachments)),
        *history_endpoints(history),
        *pay_link_endpoints(pay),
        *pricing_endpoints(pricing),
        *service_endpoints(pricing),
        *catalogue_endpoints(catalogue),
        *map(with_idempotency_key, for_members),
        *map(with_idempotency_key, managed_swap_endpoints(member_swaps)),
    ]
