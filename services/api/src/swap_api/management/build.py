"""Builds what manages organizations: apps, keys, members and webhook endpoints."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from swap_api.admission.build import AdmissionParts
from swap_api.management.adapters.webhook_endpoints import NotifierEndpoints
from swap_api.management.decide.bounds import Bounds
from swap_api.management.http.app_fees import AppFeeEndpoints
from swap_api.management.http.figures import FigureEndpoints
from swap_api.management.http.request_log import RequestLogEndpoints
from swap_api.management.http.routes import ManagementHandlers
from swap_api.management.http.swaps import ManagedSwapEndpoints
from swap_api.management.http.webhooks import WebhookEndpoints
from swap_api.management.store.app_fees import PostgresAppFees
from swap_api.management.store.figures import PostgresFigures
from swap_api.management.store.keys import PostgresKeys
from swap_api.management.store.members import PostgresMembers
from swap_api.management.store.partners import PostgresPartners
from swap_api.management.usecases.list_requests import ListRequests
from swap_api.management.usecases.manage_keys import ManageKeys
from swap_api.management.usecases.manage_members import ManageMembers
from swap_api.management.usecases.manage_partners import ManagePartners
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.management.usecases.read_app_fees import ReadAppFees
from swap_api.management.usecases.read_app_limits import ReadAppLimits
from swap_api.management.usecases.read_figures import ReadFigures
from swap_api.pay_links.http.pay import PayEndpoints
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.swaps import NewId
from swap_api.request_log.store.records import PostgresRequestRecords
from swap_api.settings import ApiGroup
from swap_api.swaps.build import Swaps
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue import Catalogue
from swap_runtime.process.service import Service


@dataclass(frozen=True, slots=True)
class Management:
    manage_partners: ManagePartners
    manage_keys: ManageKeys
    manage_members: ManageMembers
    manage_webhooks: ManageWebhooks
    notifier: NotifierEndpoints
    read_figures: ReadFigures
    read_app_limits: ReadAppLimits
    list_requests: ListRequests
    app_fees: AppFeeEndpoints

    def handlers(self) -> ManagementHandlers:
        """Return what answers the addresses."""
        return {
            "partners": self.manage_partners,
            "keys": self.manage_keys,
            "members": self.manage_members,
            "webhooks": self.manage_webhooks,
            "webhook_endpoints": WebhookEndpoints(self.manage_webhooks),
            "figures": FigureEndpoints(self.read_figures),
            "read_app_limits": self.read_app_limits,
            "app_fees": self.app_fees,
            "request_log": RequestLogEndpoints(self.list_requests),
        }

    def member_swaps(self, swaps: Swaps, pay: PayEndpoints) -> ManagedSwapEndpoints:
        return ManagedSwapEndpoints(
            self.manage_partners,
            swaps.swaps,
            swaps.history,
            swaps.catalogue,
            self.manage_webhooks,
            pay=pay,
        )


def build(
    service: Service,
    group: ApiGroup,
    catalogue: Catalogue,
    public: PublicCatalogue,
    admission: AdmissionParts,
    *,
    swaps: PostgresSwaps,
    new_id: NewId,
) -> Management:
    clock, hashes = service.clock, admission.hashes
    partners, members = PostgresPartners(service.engine), PostgresMembers(service.engine)
    bounds = Bounds(group.bounds.model_dump())
    token = group.notifier_token
    if not token.get_secret_value():
        token = service.settings.operator.token
    if group.notifier_url is not None and not token.get_secret_value():
        raise ValueError("Set SWAP_API__NOTIFIER_TOKEN (an operator with the role service)")
    notifier = NotifierEndpoints(group.notifier_url, token)
    return Management(
        manage_partners=ManagePartners(partners, bounds, clock=clock, new_id=new_id),
        manage_keys=ManageKeys(
            PostgresKeys(service.engine),
            partners,
            bounds,
            clock=clock,
            new_id=new_id,
            new_secret=secrets.token_bytes,
            hash_key=hashes,
        ),
        manage_members=ManageMembers(
            members,
            partners,
            bounds,
            clock=clock,
            new_id=new_id,
            new_secret=secrets.token_bytes,
            hash_token=hashes,
            rehash_token=admission.rotation.rehash,
        ),
        manage_webhooks=ManageWebhooks(notifier, partners, swaps, bounds, clock=clock),
        notifier=notifier,
        read_figures=ReadFigures(PostgresFigures(service.engine), partners, clock=clock),
        read_app_limits=ReadAppLimits(
            swaps,
            partners,
            rates=admission.rates,
            group=group,
            networks=[
                network.name
                for network in catalogue.networks.values()
                if network.contracts.deposit_addresses is not None
            ],
        ),
        list_requests=ListRequests(PostgresRequestRecords(service.engine), partners),
        app_fees=AppFeeEndpoints(
            ReadAppFees(PostgresAppFees(service.engine), partners), catalogue, public
        ),
    )
