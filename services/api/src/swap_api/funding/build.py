"""Builds the funding of swaps: what the chains offer now, signatures and attachments."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from swap_api.funding.adapters.approval_rendering import JsonApprovalRendering
from swap_api.funding.adapters.gasless_rendering import JsonGaslessRendering
from swap_api.funding.http.attachments import AttachmentEndpoints
from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.funding.ports import (
    DepositAddresses,
    Depositories,
    GaslessChains,
    TokenAllowances,
    Wallets,
)
from swap_api.funding.store.sign_requests import PostgresSignRequests
from swap_api.funding.store.unmatched_transfers import PostgresUnmatchedTransfers
from swap_api.funding.usecases.attach_deposit import AttachDeposit
from swap_api.funding.usecases.authorize_deposit import AuthorizeDeposit
from swap_api.funding.usecases.offer_deposit_addresses import OfferDepositAddresses
from swap_api.funding.usecases.offer_depository import OfferDepository
from swap_api.funding.usecases.offer_gasless import OfferGasless
from swap_api.funding.usecases.read_authorization import ReadAuthorization
from swap_api.funding.usecases.request_signature import RequestSignature
from swap_api.funding.usecases.resolve_deposit import ResolveDeposit
from swap_api.funding.usecases.show_signing import ShowSigning
from swap_api.read_model.build import Lookups
from swap_api.settings import ApiGroup
from swap_chains.evm.provider_agreement import one_provider_networks
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue import Catalogue
from swap_runtime.process.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class FundingChains:
    """The chain queries of funding."""

    gasless: GaslessChains
    allowances: TokenAllowances
    wallets: Wallets
    deposit_addresses: DepositAddresses
    depositories: Depositories


@dataclass(frozen=True, slots=True)
class Offers:
    """Which ways of depositing are open now, by what the chains say."""

    gasless: OfferGasless
    deposit_addresses: OfferDepositAddresses
    depository: OfferDepository

    @classmethod
    def of(cls, catalogue: Catalogue, public: PublicCatalogue, chains: FundingChains) -> Offers:
        addresses = OfferDepositAddresses(catalogue, chains.deposit_addresses, public)
        return cls(
            OfferGasless(catalogue, chains.gasless, public),
            addresses,
            OfferDepository(
                catalogue, chains.depositories, deposit_address_networks=addresses.networks
            ),
        )

    async def refresh(self) -> None:
        """Ask every chain about every way once."""
        await asyncio.gather(
            self.gasless.refresh(), self.deposit_addresses.refresh(), self.depository.refresh()
        )

    def watch(self, service: Service, interval: timedelta) -> None:
        """Ask again and again."""
        service.every("offer-gasless", interval, self.gasless.refresh)
        service.every("offer-deposit-addresses", interval, self.deposit_addresses.refresh)
        service.every("offer-depository", interval, self.depository.refresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class Funding:
    """What the packages above and the table of endpoints use."""

    offers: Offers
    deposit_addresses: DepositAddresses
    request_signature: RequestSignature
    gasless_rendering: JsonGaslessRendering
    resolve_deposit: ResolveDeposit
    authorizations: AuthorizationEndpoints
    attachments: AttachmentEndpoints


def build(
    service: Service,
    group: ApiGroup,
    catalogue: Catalogue,
    public: PublicCatalogue,
    chains: FundingChains,
    *,
    lookups: Lookups,
    providers: Mapping[str, int],
) -> Funding:
    """
    :param providers: how many independent providers each network's nodes have.
    """
    clock, requests = service.clock, PostgresSignRequests(service.engine)
    offers = Offers.of(catalogue, public, chains)
    rendering = JsonGaslessRendering(
        catalogue, in_lower_case=group.authorize_status_case == "lower"
    )
    request_signature = RequestSignature(
        catalogue, offer=offers.gasless, chains=chains.gasless, requests=requests, clock=clock
    )
    return Funding(
        offers=offers,
        deposit_addresses=chains.deposit_addresses,
        request_signature=request_signature,
        gasless_rendering=rendering,
        resolve_deposit=ResolveDeposit(
            catalogue,
            rendering=JsonApprovalRendering(),
            signing=ShowSigning(request_signature, rendering, requests=requests, clock=clock),
            allowances=chains.allowances,
        ),
        authorizations=AuthorizationEndpoints(
            authorize_deposit=AuthorizeDeposit(
                catalogue,
                swaps=lookups.swaps,
                offer=offers.gasless,
                ask=request_signature,
                chains=chains.gasless,
                requests=requests,
                clock=clock,
            ),
            read_authorization=ReadAuthorization(
                lookups.read_caught_up, lookups.heads, rendering, requests=requests, clock=clock
            ),
        ),
        attachments=AttachmentEndpoints(
            attach_deposit=AttachDeposit(
                catalogue,
                swaps=lookups.swaps,
                transfers=PostgresUnmatchedTransfers(service.engine),
                wallets=chains.wallets,
                clock=clock,
                one_provider_networks=one_provider_networks(catalogue, providers),
            )
        ),
    )
