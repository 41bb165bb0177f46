"""The table of endpoints."""

from __future__ import annotations

from swap_api.funding.http.attachments import AttachmentEndpoints
from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.funding.http.table import of_attachments, of_authorizations
from swap_api.http.endpoints import Endpoint
from swap_api.http.idempotent_requests import make_idempotent
from swap_api.management.http.figures import FigureEndpoints
from swap_api.management.http.members import MemberEndpoints
from swap_api.management.http.organizations import ManagementEndpoints
from swap_api.management.http.request_log import RequestLogEndpoints
from swap_api.management.http.swaps import ManagedSwapEndpoints, managed_swaps
from swap_api.management.http.table import management
from swap_api.management.http.webhooks import WebhookEndpoints
from swap_api.model.keys import Scope
from swap_api.pay_links.http.pay import PayEndpoints
from swap_api.pay_links.http.table import of_pay_links
from swap_api.swaps.http.catalogue import CatalogueEndpoints
from swap_api.swaps.http.history import HistoryEndpoints
from swap_api.swaps.http.pricing import PricingEndpoints
from swap_api.swaps.http.swaps import SwapEndpoints
from swap_api.swaps.http.table import of_catalogue, of_history, of_pricing, of_swaps


def endpoints(
    swaps: SwapEndpoints,
    history: HistoryEndpoints,
    pricing: PricingEndpoints,
    catalogue: CatalogueEndpoints,
    *,
    authorizations: AuthorizationEndpoints,
    attachments: AttachmentEndpoints,
    pay: PayEndpoints,
    managed: ManagementEndpoints,
    members: MemberEndpoints,
    webhooks: WebhookEndpoints,
    figures: FigureEndpoints,
    request_log: RequestLogEndpoints,
    swaps_of_members: ManagedSwapEndpoints,
) -> list[Endpoint]:
    """Return every address of the public port but the document that describes them."""
    for_members = (
        endpoint
        for endpoint in management(
            managed=managed,
            members=members,
            webhooks=webhooks,
            figures=figures,
            request_log=request_log,
        )
        if endpoint.scope is not Scope.OPERATOR
    )
    return [
        *map(make_idempotent, of_swaps(swaps)),
        *map(make_idempotent, of_authorizations(authorizations)),
        *map(make_idempotent, of_attachments(attachments)),
        *of_history(history),
        *of_pay_links(pay),
        *of_pricing(pricing),
        *of_catalogue(catalogue),
        *map(make_idempotent, for_members),
        *map(make_idempotent, managed_swaps(swaps_of_members)),
    ]
