"""Builds the api. The only module that knows every concrete class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import uuid4

from starlette.routing import Router

from swap_api.admission.adapters.counters import LocalCounters, RedisCounters
from swap_api.admission.decide.link_tokens import HmacLinkTokens
from swap_api.admission.store.callers import KeyHashes, PostgresCallers
from swap_api.admission.store.idempotency import PostgresIdempotency
from swap_api.admission.store.pepper_rotation import PostgresPepperRotation
from swap_api.admission.usecases.answer_once import AnswerOnce
from swap_api.funding.adapters.allowances import EvmAllowances
from swap_api.funding.adapters.approval_rendering import JsonApprovalRendering
from swap_api.funding.adapters.deposit_addresses import CheckedDepositAddresses
from swap_api.funding.adapters.depositories import EvmDepositories
from swap_api.funding.adapters.gasless_chains import EvmGaslessChains
from swap_api.funding.adapters.gasless_rendering import JsonGaslessRendering
from swap_api.funding.adapters.wallets import EvmWallets
from swap_api.funding.http.attachments import AttachmentEndpoints
from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.funding.offers import Offers
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
from swap_api.funding.usecases.read_authorization import ReadAuthorization
from swap_api.funding.usecases.request_signature import RequestSignature
from swap_api.funding.usecases.resolve_deposit import ResolveDeposit
from swap_api.funding.usecases.show_signing import ShowSigning
from swap_api.http.app import EndpointApps
from swap_api.http.endpoints import Endpoint, weighed
from swap_api.http.errors import Errors
from swap_api.http.operator_routes import OperatorRoutes
from swap_api.http.unknown_names import UnknownNames
from swap_api.management.build import Management, build_management
from swap_api.management.http.swaps import ManagedSwapEndpoints
from swap_api.management.http.table import management
from swap_api.management.usecases.list_swap_messages import ListSwapMessages
from swap_api.model.keys import Environment, anybody
from swap_api.pay_links.adapters.pay_rendering import JsonPayRendering
from swap_api.pay_links.http.pay import PayEndpoints
from swap_api.pay_links.usecases.make_link import MakeLink
from swap_api.pay_links.usecases.open_link import OpenLink
from swap_api.pay_links.usecases.read_pay_swap import ReadPaySwap
from swap_api.public_port import build_public_app
from swap_api.random_ids import new_sequence_number, request_ids
from swap_api.read_model.store.heads import WatchedHeads
from swap_api.read_model.store.swaps import PostgresReadModel, PostgresSwaps
from swap_api.read_model.usecases.read_decided import ReadDecided
from swap_api.settings import ApiGroup, ApiSettings
from swap_api.swaps.adapters.chain_transactions import EvmChainTransactions
from swap_api.swaps.adapters.quoter import HttpPricing
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.reach import Reach
from swap_api.swaps.guards import Guards
from swap_api.swaps.handlers import swaps
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
from swap_api.swaps.usecases.read_transaction_status import ReadTransactionStatus
from swap_api.swaps.usecases.refresh_prices import RefreshPrices
from swap_api.swaps.usecases.report_status import ReportStatus
from swap_api.swaps.usecases.set_refund_address import SetRefundAddress
from swap_api.swaps.usecases.speed_up_deposit import SpeedUpDeposit
from swap_api.swaps.usecases.store_swaps import StoreSwaps
from swap_api.table import endpoints
from swap_chains.evm.codec import checksum_address
from swap_chains.evm.provider_agreement import one_provider_networks
from swap_chains.evm.providers import providers_of
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_runtime.process.service import Service, run
from swap_runtime.public_catalogue import public_catalogue
from swap_runtime.telemetry.logging import configure_logging

SCHEMA_REVISION: Final = "0016"  # the last of the migrations
USES_INTERVAL: Final = timedelta(seconds=10)
FORGET_INTERVAL: Final = timedelta(minutes=1)


def main() -> None:
    configure_logging("api")  # first: a wrong setting is logged, too
    settings = ApiSettings()  # type: ignore[call-arg]  # the environment fills it
    run("api", settings, settings.api, build, schema_revision=SCHEMA_REVISION)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the public port and the consumer are made of."""

    app: Router
    endpoints: Sequence[Endpoint]  # of the public port
    store_swaps: StoreSwaps
    refresh_prices: RefreshPrices
    management: Management
    door: OperatorRoutes
    callers: PostgresCallers
    idempotency: PostgresIdempotency
    counters: RedisCounters
    offers: Offers
    guards: Guards


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, ApiGroup)
    pricing = HttpPricing(group.quoter_url, answer_seconds=group.quoter_timeout.total_seconds())
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    session = open_session()
    chains = EvmGaslessChains(catalogue, service.settings.node_urls(), session)
    allowances = EvmAllowances(catalogue, service.settings.node_urls(), session)
    addresses = CheckedDepositAddresses(catalogue, service.settings.node_urls(), session)
    service.on_start(addresses.verify_all)
    parts = Building(
        service,
        group,
        catalogue,
        pricing,
        chains=chains,
        allowances=allowances,
        wallets=EvmWallets(catalogue, service.settings.node_urls(), session),
        deposit_addresses=addresses,
        depositories=EvmDepositories(catalogue, service.settings.node_urls(), session),
        transactions=EvmChainTransactions(catalogue, service.settings.node_urls(), session),
        guards=Guards.of(service.engine, catalogue, service.settings.screening, session),
    ).parts()
    swaps.subscribe(
        service.subscriptions, store_swaps=parts.store_swaps, parking=service.parking("api")
    )
    # Before anybody asks, so that a start refuses nothing that was offered before it.
    await parts.offers.refresh()
    service.serve(parts.app, port=group.port, idle_timeout=group.idle_timeout)
    for method, path, handler in parts.door.routes():
        service.admin(method, path, handler)
    service.every("refresh-prices", group.prices_poll_interval, parts.refresh_prices.refresh)
    parts.guards.watch(service, group.stops_poll_interval)
    service.every("save-key-uses", USES_INTERVAL, parts.callers.save_uses)
    service.every("forget-idempotency-keys", FORGET_INTERVAL, parts.idempotency.forget_old)
    parts.offers.watch(service, group.gasless_check_interval)
    for close in (parts.counters.close, parts.management.notifier.close, pricing.close):
        service.on_stop(close)
    service.on_stop(session.close)


class Building:
    """The pieces that several parts share."""

    def __init__(
        self,
        service: Service,
        group: ApiGroup,
        catalogue: Catalogue,
        pricing: Pricing,
        *,
        chains: GaslessChains,
        allowances: TokenAllowances,
        wallets: Wallets,
        deposit_addresses: DepositAddresses,
        depositories: Depositories,
        transactions: ChainTransactions,
        guards: Guards | None = None,
    ) -> None:
        self._wallets = wallets
        self._transactions = transactions
        self._chains = chains
        self._deposit_addresses = deposit_addresses
        self._service = service
        self._group = group
        self._catalogue = catalogue
        self._pricing = pricing
        self._public = public_catalogue(catalogue)
        self._anybody = anybody(Environment(catalogue.environment))
        self._rendering = JsonRendering(catalogue, self._public)
        self._know_prices = RefreshPrices(pricing)
        self._guards = guards or Guards.of(service.engine, catalogue)
        self._offers = Offers.of(catalogue, self._public, chains, deposit_addresses, depositories)
        self._fetch_price = FetchPrice(
            pricing,
            self._rendering,
            gasless=self._offers.gasless,
            depository=self._offers.depository,
        )
        self._swaps = PostgresSwaps(service.engine)
        self._read_decided = ReadDecided(self._swaps)
        self._heads = WatchedHeads(service.engine)
        self._hints = PostgresHints(service.engine)
        self._sign_requests = PostgresSignRequests(service.engine)
        self._gasless_rendering = JsonGaslessRendering(
            catalogue, in_lower_case=group.authorize_status_case == "lower"
        )
        self._request_signature = RequestSignature(
            catalogue,
            offer=self._offers.gasless,
            chains=chains,
            requests=self._sign_requests,
            clock=service.clock,
        )
        self._resolve_deposit = ResolveDeposit(
            catalogue,
            rendering=JsonApprovalRendering(),
            signing=ShowSigning(
                self._request_signature,
                self._gasless_rendering,
                requests=self._sign_requests,
                clock=service.clock,
            ),
            allowances=allowances,
        )
        self._read_swap = ReadSwap(
            self._read_decided, self._heads, self._rendering, deposit=self._resolve_deposit
        )
        others = group.other_key_peppers
        self._hashes = KeyHashes(group.key_pepper, others)
        self._link_tokens = HmacLinkTokens(
            [key.get_secret_value().encode() for key in group.pay_link_keys],
            pepper=group.key_pepper.get_secret_value().encode(),
            other_peppers=[each.get_secret_value().encode() for each in others],
        )
        self._management = build_management(service, group, self._hashes, new_id=uuid4)

    def parts(self) -> Parts:
        engine, clock, group = self._service.engine, self._service.clock, self._group
        rehash = PostgresPepperRotation(engine, self._hashes)
        callers = PostgresCallers(engine, self._hashes, clock=clock, rehash=rehash)
        idempotency = PostgresIdempotency(engine, clock=clock)
        counters = RedisCounters(
            self._service.settings.redis.url, fallback=LocalCounters(clock=clock)
        )
        errors = Errors(group.docs_url)
        routes = self._management.routes()
        asking = self._catalogue, self._fetch_price, self._rendering
        swap_endpoints, history = self._swap_endpoints(idempotency), self._history_endpoints()
        catalogue_endpoints = self._catalogue_endpoints()
        authorizations = self._authorization_endpoints()
        pay = self._pay_endpoints(authorizations, history)
        declared = endpoints(
            swap_endpoints,
            history,
            PricingEndpoints(
                read_quote=ReadQuote(*asking, self._guards.screen_parties),
                read_ranges=ReadRanges(*asking),
                read_limits=ReadLimits(*asking),
                errors=errors,
            ),
            catalogue_endpoints,
            authorizations=authorizations,
            pay=pay,
            attachments=AttachmentEndpoints(
                attach_deposit=AttachDeposit(
                    self._catalogue,
                    swaps=self._swaps,
                    transfers=PostgresUnmatchedTransfers(engine),
                    wallets=self._wallets,
                    clock=clock,
                    one_provider_networks=one_provider_networks(self._catalogue, self._providers()),
                )
            ),
            **routes,
            swaps_of_members=ManagedSwapEndpoints(
                self._management.manage_partners,
                swap_endpoints,
                history,
                catalogue_endpoints,
                ListSwapMessages(self._swaps, self._management.manage_webhooks),
                pay=pay,
            ),
        )
        managing = management(**routes)
        table = weighed(declared, group.rates.weights)
        apps = EndpointApps(
            UnknownNames((*table, *managing)), AnswerOnce(idempotency, new_id=uuid4)
        )
        return Parts(
            endpoints=table,
            app=build_public_app(
                table,
                group,
                callers=callers,
                counters=counters,
                apps=apps,
                identify_member=self._management.identify_member,
                link_tokens=self._link_tokens,
                anybody=self._anybody,
            ),
            store_swaps=StoreSwaps(PostgresReadModel(engine, consumer="api"), self._rendering),
            refresh_prices=self._know_prices,
            management=self._management,
            door=OperatorRoutes(
                managing,
                apps=apps,
                errors=errors,
                anybody=self._anybody,
                new_request_id=request_ids(),
            ),
            callers=callers,
            idempotency=idempotency,
            counters=counters,
            offers=self._offers,
            guards=self._guards,
        )

    def _authorization_endpoints(self) -> AuthorizationEndpoints:
        requests, clock = self._sign_requests, self._service.clock
        return AuthorizationEndpoints(
            authorize_deposit=AuthorizeDeposit(
                self._catalogue,
                swaps=self._swaps,
                offer=self._offers.gasless,
                ask=self._request_signature,
                chains=self._chains,
                requests=requests,
                clock=clock,
            ),
            read_authorization=ReadAuthorization(
                self._read_decided,
                self._heads,
                self._gasless_rendering,
                requests=requests,
                clock=clock,
            ),
        )

    def _swap_endpoints(self, idempotency: PostgresIdempotency) -> SwapEndpoints:
        create_swap = CreateSwap(
            self._catalogue,
            fetch_price=self._fetch_price,
            cap_unpaid_swaps=self._cap_unpaid_swaps(),
            cap_deposit_addresses=self._cap_deposit_addresses(),
            creations=PostgresCreations(self._service.engine),
            idempotency=idempotency,
            rendering=self._rendering,
            request_signature=self._request_signature,
            gasless_rendering=self._gasless_rendering,
            clock=self._service.clock,
            new_id=uuid4,
            new_sequence_number=new_sequence_number,
            deposit_addresses=self._deposit_addresses,
            deposit=self._resolve_deposit,
            refuse_stopped_routes=self._guards.refuse_stopped_routes,
            screen_parties=self._guards.screen_parties,
        )
        return SwapEndpoints(
            self._catalogue,
            create_swap=create_swap,
            read_swap=self._read_swap,
            list_swaps=ListSwaps(self._swaps, self._heads, self._rendering),
            set_refund_address=self._set_refund_address(),
            speed_up_deposit=SpeedUpDeposit(self._hints, clock=self._service.clock),
        )

    def _set_refund_address(self) -> SetRefundAddress:
        return SetRefundAddress(
            self._catalogue,
            refund_addresses=PostgresRefundAddresses(self._service.engine),
            own_addresses=PostgresOwnAddresses(self._service.engine),
            clock=self._service.clock,
            screen_parties=self._guards.screen_parties,
        )

    def _pay_endpoints(
        self, authorizations: AuthorizationEndpoints, history: HistoryEndpoints
    ) -> PayEndpoints:
        engine, group = self._service.engine, self._group
        tokens = self._link_tokens
        rendering = JsonPayRendering(self._rendering)
        return PayEndpoints(
            make_link=MakeLink(self._swaps, tokens, rendering, page_url=group.pay_page_url),
            open_link=OpenLink(self._swaps, tokens, environment=self._anybody.environment),
            read_pay_swap=ReadPaySwap(
                self._read_decided,
                self._heads,
                rendering,
                deposit=self._resolve_deposit,
                history=PostgresHistory(engine),
                refund_addresses=PostgresRefundAddresses(engine),
            ),
            set_refund_address=self._set_refund_address(),
            authorizations=authorizations,
            history=history,
        )

    def _history_endpoints(self) -> HistoryEndpoints:
        history = PostgresHistory(self._service.engine)
        return HistoryEndpoints(
            read_history=ReadHistory(self._swaps, history, self._rendering),
            read_transaction_status=ReadTransactionStatus(
                self._catalogue,
                decided=self._read_decided,
                heads=self._heads,
                rendering=self._rendering,
                transactions=self._transactions,
                hints=self._hints,
            ),
        )

    def _catalogue_endpoints(self) -> CatalogueEndpoints:
        offered = self._offers.deposit_addresses.networks
        reach = Reach(self._catalogue, deposit_address_networks=offered)
        prices, rendering = self._know_prices, self._rendering
        return CatalogueEndpoints(
            list_networks=ListNetworks(self._catalogue, self._public, prices, rendering),
            list_reachable=ListReachable(self._catalogue, reach, prices, rendering),
            report_status=ReportStatus(
                self._catalogue,
                PostgresNetworkStates(
                    self._service.engine, self._catalogue, providers=self._providers()
                ),
                rendering,
                clock=self._service.clock,
            ),
        )

    def _providers(self) -> dict[str, int]:
        nodes, networks = self._service.settings.node_urls(), self._catalogue.networks.values()
        urls = {
            network.name: nodes.get(network.name) or network.public_nodes for network in networks
        }
        return {name: len(providers_of(of_network)) for name, of_network in urls.items()}

    def _cap_unpaid_swaps(self) -> CapUnpaidSwaps:
        return CapUnpaidSwaps(
            self._swaps,
            clock=self._service.clock,
            publishable_max=self._group.pending_swaps_publishable,
            secret_max=self._group.pending_swaps_secret,
            is_lifted=self._group.limits_lifted,
        )

    def _cap_deposit_addresses(self) -> CapDepositAddresses:
        return CapDepositAddresses(
            self._swaps,
            clock=self._service.clock,
            per_app=self._group.deposit_addresses_per_app,
            per_network=self._group.deposit_addresses_per_network,
            is_lifted=self._group.limits_lifted,
        )
