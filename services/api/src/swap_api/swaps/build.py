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


class SwapsBuilding:
    """The pieces that several endpoints share."""

    def __init__(
        self,
        service: Service,
        group: ApiGroup,
        catalogue: Catalogue,
        public: PublicCatalogue,
        *,
        lookups: Lookups,
        funding: Funding,
        guards: Guards,
        pricing: Pricing,
        new_id: NewId,
    ) -> None:
        self._engine, self._clock, self._group = service.engine, service.clock, group
        self._catalogue, self._public = catalogue, public
        self._lookups, self._funding, self._guards = lookups, funding, guards
        self._new_id = new_id
        self._rendering = JsonRendering(catalogue, public)
        self._refresh_prices = RefreshPrices(pricing)
        self._hints = PostgresHints(service.engine, clock=service.clock)
        self._fetch_price = FetchPrice(
            pricing,
            self._rendering,
            gasless=funding.offers.gasless,
            depository=funding.offers.depository,
        )
        self._set_refund_address = SetRefundAddress(
            catalogue,
            lookups.swaps,
            refund_addresses=PostgresRefundAddresses(service.engine),
            own_addresses=PostgresOwnAddresses(service.engine),
            clock=service.clock,
            screen_parties=guards.screen_parties,
        )

    def build(
        self,
        *,
        idempotency: PostgresIdempotency,
        transactions: ChainTransactions,
        errors: Errors,
        providers: Mapping[str, int],
    ) -> Swaps:
        """
        :param providers: how many independent providers each network's nodes have.
        """
        asking = self._catalogue, self._fetch_price, self._rendering
        return Swaps(
            rendering=self._rendering,
            refresh_prices=self._refresh_prices,
            store_swaps=StoreSwaps(
                PostgresReadModel(self._engine, consumer="api"), self._rendering
            ),
            hints=self._hints,
            set_refund_address=self._set_refund_address,
            swaps=self._swap_endpoints(idempotency),
            history=self._history_endpoints(transactions),
            pricing=PricingEndpoints(
                read_quote=ReadQuote(*asking, self._guards.screen_parties),
                read_ranges=ReadRanges(self._catalogue, self._fetch_price),
                read_limits=ReadLimits(*asking),
                errors=errors,
            ),
            catalogue=self._catalogue_endpoints(providers),
        )

    def _swap_endpoints(self, idempotency: PostgresIdempotency) -> SwapEndpoints:
        swaps, heads, funding = self._lookups.swaps, self._lookups.heads, self._funding
        deposit = funding.resolve_deposit
        return SwapEndpoints(
            self._catalogue,
            create_swap=CreateSwap(
                self._catalogue,
                fetch_price=self._fetch_price,
                cap_unpaid_swaps=CapUnpaidSwaps(
                    swaps,
                    clock=self._clock,
                    publishable_max=self._group.pending_swaps_publishable,
                    secret_max=self._group.pending_swaps_secret,
                    is_lifted=self._group.limits_lifted,
                ),
                cap_deposit_addresses=CapDepositAddresses(
                    swaps,
                    clock=self._clock,
                    per_app=self._group.deposit_addresses_per_app,
                    per_network=self._group.deposit_addresses_per_network,
                    is_lifted=self._group.limits_lifted,
                ),
                creations=PostgresCreations(self._engine),
                idempotency=idempotency,
                rendering=self._rendering,
                request_signature=funding.request_signature,
                gasless_rendering=funding.gasless_rendering,
                clock=self._clock,
                new_id=self._new_id,
                new_sequence_number=new_sequence_number,
                deposit_addresses=funding.deposit_addresses,
                deposit=deposit,
                refuse_stopped_routes=self._guards.refuse_stopped_routes,
                screen_parties=self._guards.screen_parties,
            ),
            read_swap=ReadSwap(
                self._lookups.read_caught_up, heads, self._rendering, deposit=deposit
            ),
            list_swaps=ListSwaps(swaps, heads, self._rendering),
            read_swap_states=ReadSwapStates(swaps),
            set_refund_address=self._set_refund_address,
            speed_up_deposit=SpeedUpDeposit(swaps, self._hints, clock=self._clock),
        )

    def _history_endpoints(self, transactions: ChainTransactions) -> HistoryEndpoints:
        return HistoryEndpoints(
            read_history=ReadHistory(
                self._lookups.swaps, PostgresHistory(self._engine), self._public
            ),
            read_transaction_status=ReadTransactionStatus(
                self._catalogue,
                read_caught_up=self._lookups.read_caught_up,
                heads=self._lookups.heads,
                rendering=self._rendering,
                transactions=transactions,
                hints=self._hints,
            ),
        )

    def _catalogue_endpoints(self, providers: Mapping[str, int]) -> CatalogueEndpoints:
        offered = self._funding.offers.deposit_addresses.networks
        reach = Reach(self._catalogue, deposit_address_networks=offered)
        prices, rendering = self._refresh_prices, self._rendering
        return CatalogueEndpoints(
            list_networks=ListNetworks(self._catalogue, self._public, prices, rendering),
            list_reachable=ListReachable(self._catalogue, reach, prices, rendering),
            report_status=ReportStatus(
                self._catalogue,
                PostgresNetworkStates(self._engine, self._catalogue, providers=providers),
                clock=self._clock,
            ),
        )
