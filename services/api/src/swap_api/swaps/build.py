"""Builds swaps: creation and what may refuse it, prices, reads, and the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import aiohttp

from swap_api.admission.store.idempotency import PostgresIdempotency
from swap_api.funding.build import Funding
from swap_api.http.errors import Errors
from swap_api.random_ids import new_sequence_number
from swap_api.read_model.build import Lookups
from swap_api.read_model.store.swaps import PostgresReadModel
from swap_api.read_model.swaps import NewId
from swap_api.settings import ApiGroup
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.reach import Reach
from swap_api.swaps.http.catalogue import CatalogueEndpoints
from swap_api.swaps.http.history import HistoryEndpoints
from swap_api.swaps.http.pricing import PricingEndpoints
from swap_api.swaps.http.swaps import SwapEndpoints
from swap_api.swaps.ports import ChainTransactions, Pricing
from swap_api.swaps.store.creations import PostgresCreations
from swap_api.swaps.store.hints import PostgresHints
from swap_api.swaps.store.history import PostgresHistory
from swap_api.swaps.store.network_states import PostgresNetworkStates
from swap_api.swaps.store.own_addresses import PostgresOwnAddresses
from swap_api.swaps.store.payout_stops import PostgresPayoutStops
from swap_api.swaps.store.refund_addresses import PostgresRefundAddresses
from swap_api.swaps.usecases.cap_deposit_addresses import CapDepositAddresses
from swap_api.swaps.usecases.cap_unpaid_swaps import CapUnpaidSwaps
from swap_api.swaps.usecases.create_swap import CreateSwap
from swap_api.swaps.usecases.fetch_price import FetchPrice
from swap_api.swaps.usecases.list_networks import ListNetworks
from swap_api.swaps.usecases.list_reachable import ListReachable
from swap_api.swaps.usecases.list_swaps import ListSwaps
from swap_api.swaps.usecases.read_history import ReadHistory
from swap_api.swaps.usecases.read_limits import ReadLimits
from swap_api.swaps.usecases.read_quote import ReadQuote
from swap_api.swaps.usecases.read_ranges import ReadRanges
from swap_api.swaps.usecases.read_swap import ReadSwap
from swap_api.swaps.usecases.read_swap_states import ReadSwapStates
from swap_api.swaps.usecases.read_transaction_status import ReadTransactionStatus
from swap_api.swaps.usecases.refresh_prices import RefreshPrices
from swap_api.swaps.usecases.refuse_stopped_routes import RefuseStoppedRoutes
from swap_api.swaps.usecases.report_status import ReportStatus
from swap_api.swaps.usecases.screen_parties import ScreenParties
from swap_api.swaps.usecases.set_refund_address import SetRefundAddress
from swap_api.swaps.usecases.speed_up_deposit import SpeedUpDeposit
from swap_api.swaps.usecases.store_swaps import StoreSwaps
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue import Catalogue
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine
from swap_runtime.process.service import Service
from swap_runtime.screening import (
    BlockList,
    RehearsalAddresses,
    Screening,
    Screenings,
    ScreeningService,
)
from swap_runtime.settings import ScreeningSettings


@dataclass(frozen=True, slots=True)
class Guards:
    """What refuses a swap: payouts that are stopped, addresses not to pay."""

    refuse_stopped_routes: RefuseStoppedRoutes
    screen_parties: ScreenParties
    blocked: BlockList

    @classmethod
    def of(
        cls,
        engine: Engine,
        catalogue: Catalogue,
        settings: ScreeningSettings | None = None,
        session: aiohttp.ClientSession | None = None,
        *,
        blocked: BlockList | None = None,
    ) -> Guards:
        """
        :param settings: of the screening service beside the operators' list.
        """
        blocked = blocked or BlockList(engine)
        rehearsals = RehearsalAddresses(environment=catalogue.environment)
        screenings: list[Screening] = [rehearsals, blocked]
        if settings is not None and settings.url and session is not None:
            screenings.append(ScreeningService(settings, session))
        screen_parties = ScreenParties(Screenings(*screenings))
        return cls(RefuseStoppedRoutes(PostgresPayoutStops(engine)), screen_parties, blocked)

    def watch(self, service: Service, interval: timedelta) -> None:
        """Read the operators' orders, before the first request and then repeatedly."""
        service.on_start(self.look)
        service.every("refresh-stops", interval, self.refuse_stopped_routes.refresh)
        service.every("refresh-blocked", interval, self.blocked.refresh)

    async def look(self) -> None:
        """Look once. Without a first read, the api starts and answers that it is unavailable."""
        for refresh in (self.refuse_stopped_routes.refresh, self.blocked.refresh):
            with suppress(Unavailable):
                await refresh()


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """What the packages above, the table of endpoints and the consumer use."""

    rendering: JsonRendering
    refresh_prices: RefreshPrices
    store_swaps: StoreSwaps
    hints: PostgresHints
    set_refund_address: SetRefundAddress
    swaps: SwapEndpoints
    history: HistoryEndpoints
    pricing: PricingEndpoints
    catalogue: CatalogueEndpoints


def build(
    service: Service,
    group: ApiGroup,
    catalogue: Catalogue,
    public: PublicCatalogue,
    *,
    lookups: Lookups,
    funding: Funding,
    guards: Guards,
    pricing: Pricing,
    transactions: ChainTransactions,
    idempotency: PostgresIdempotency,
    errors: Errors,
    providers: Mapping[str, int],
    new_id: NewId,
) -> Swaps:
    """
    :param providers: how many independent providers each network's nodes have.
    """
    engine, clock, offers = service.engine, service.clock, funding.offers
    swaps, heads, read_caught_up = lookups.swaps, lookups.heads, lookups.read_caught_up
    rendering, hints = JsonRendering(catalogue, public), PostgresHints(engine, clock=clock)
    refresh_prices = RefreshPrices(pricing)
    fetch_price = FetchPrice(
        pricing, rendering, gasless=offers.gasless, depository=offers.depository
    )
    set_refund_address = SetRefundAddress(
        catalogue,
        swaps,
        refund_addresses=PostgresRefundAddresses(engine),
        own_addresses=PostgresOwnAddresses(engine),
        clock=clock,
        screen_parties=guards.screen_parties,
    )
    create_swap = CreateSwap(
        catalogue,
        fetch_price=fetch_price,
        cap_unpaid_swaps=CapUnpaidSwaps(
            swaps,
            clock=clock,
            publishable_max=group.pending_swaps_publishable,
            secret_max=group.pending_swaps_secret,
            is_lifted=group.limits_lifted,
        ),
        cap_deposit_addresses=CapDepositAddresses(
            swaps,
            clock=clock,
            per_app=group.deposit_addresses_per_app,
            per_network=group.deposit_addresses_per_network,
            is_lifted=group.limits_lifted,
        ),
        creations=PostgresCreations(engine),
        idempotency=idempotency,
        rendering=rendering,
        request_signature=funding.request_signature,
        gasless_rendering=funding.gasless_rendering,
        clock=clock,
        new_id=new_id,
        new_sequence_number=new_sequence_number,
        deposit_addresses=funding.deposit_addresses,
        deposit=funding.resolve_deposit,
        refuse_stopped_routes=guards.refuse_stopped_routes,
        screen_parties=guards.screen_parties,
    )
    reach = Reach(catalogue, deposit_address_networks=offers.deposit_addresses.networks)
    states = PostgresNetworkStates(engine, catalogue, providers=providers)
    asking = catalogue, fetch_price, rendering
    return Swaps(
        rendering=rendering,
        refresh_prices=refresh_prices,
        store_swaps=StoreSwaps(PostgresReadModel(engine, consumer="api"), rendering),
        hints=hints,
        set_refund_address=set_refund_address,
        swaps=SwapEndpoints(
            catalogue,
            create_swap=create_swap,
            read_swap=ReadSwap(read_caught_up, heads, rendering, deposit=funding.resolve_deposit),
            list_swaps=ListSwaps(swaps, heads, rendering),
            read_swap_states=ReadSwapStates(swaps),
            set_refund_address=set_refund_address,
            speed_up_deposit=SpeedUpDeposit(swaps, hints, clock=clock),
        ),
        history=HistoryEndpoints(
            read_history=ReadHistory(swaps, PostgresHistory(engine), public),
            read_transaction_status=ReadTransactionStatus(
                catalogue,
                read_caught_up=read_caught_up,
                heads=heads,
                rendering=rendering,
                transactions=transactions,
                hints=hints,
            ),
        ),
        pricing=PricingEndpoints(
            read_quote=ReadQuote(*asking, guards.screen_parties),
            read_ranges=ReadRanges(catalogue, fetch_price),
            read_limits=ReadLimits(*asking),
            errors=errors,
        ),
        catalogue=CatalogueEndpoints(
            list_networks=ListNetworks(catalogue, public, refresh_prices, rendering),
            list_reachable=ListReachable(catalogue, reach, refresh_prices, rendering),
            report_status=ReportStatus(catalogue, states, clock=clock),
        ),
    )
