"""All endpoints of the public port. `http/operator_routes.py` has those of the internal port."""

from __future__ import annotations

from swap_api.funding.http.attachments import AttachmentEndpoints
from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.funding.http.routes import attachment_endpoints, authorization_endpoints
from swap_api.http.endpoints import Endpoint
from swap_api.http.idempotent_requests import with_idempotency_key
from swap_api.management.http.app_fees import AppFeeEndpoints
from swap_api.management.http.figures import FigureEndpoints
from swap_api.management.http.request_log import RequestLogEndpoints
from swap_api.management.http.routes import management
from swap_api.management.http.swaps import ManagedSwapEndpoints, managed_swap_endpoints
from swap_api.management.http.webhooks import WebhookEndpoints
from swap_api.management.usecases.manage_keys import ManageKeys
from swap_api.management.usecases.manage_members import ManageMembers
from swap_api.management.usecases.manage_partners import ManagePartners
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.management.usecases.read_app_limits import ReadAppLimits
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
    partners: ManagePartners,
    keys: ManageKeys,
    members: ManageMembers,
    webhooks: ManageWebhooks,
    webhook_endpoints: WebhookEndpoints,
    figures: FigureEndpoints,
    read_app_limits: ReadAppLimits,
    app_fees: AppFeeEndpoints,
    request_log: RequestLogEndpoints,
    member_swaps: ManagedSwapEndpoints,
) -> list[Endpoint]:
    """Return every endpoint of the public port except the OpenAPI document."""
    for_members = (
        endpoint
        for endpoint in management(
            partners=partners,
            keys=keys,
            members=members,
            webhooks=webhooks,
            webhook_endpoints=webhook_endpoints,
            figures=figures,
            read_app_limits=read_app_limits,
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
