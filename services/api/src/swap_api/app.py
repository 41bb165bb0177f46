"""Wires the api: its packages, the two HTTP ports and the consumer."""

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
from swap_api.funding.adapters.deposit_addresses import CheckedDepositAddresses
from swap_api.funding.adapters.depositories import EvmDepositories
from swap_api.funding.adapters.gasless_chains import EvmGaslessChains
from swap_api.funding.adapters.wallets import EvmWallets
from swap_api.funding.build import FundingChains, Offers, build_funding
from swap_api.http.app import EndpointApps
from swap_api.http.endpoints import Endpoint, declared_members, weighed
from swap_api.http.errors import Errors
from swap_api.http.operator_routes import OperatorRoutes
from swap_api.http.unknown_names import UnknownNames
from swap_api.management.build import Management, build_management
from swap_api.management.http.routes import management as of_management
from swap_api.model.keys import Environment, anybody
from swap_api.pay_links.build import build_pay_links
from swap_api.public_endpoints import endpoints
from swap_api.public_port import build_public_app
from swap_api.random_ids import request_ids
from swap_api.read_model.build import Lookups
from swap_api.request_log.store.records import PostgresRequestRecords
from swap_api.request_log.usecases.record_requests import RecordRequests
from swap_api.settings import ApiGroup, ApiSettings
from swap_api.swaps.adapters.chain_transactions import EvmChainTransactions
from swap_api.swaps.adapters.quoter import HttpPricing
from swap_api.swaps.build import Guards, SwapsBuilding
from swap_api.swaps.handlers.swaps import subscribe
from swap_api.swaps.ports import ChainTransactions, Pricing
from swap_api.swaps.store.hints import PostgresHints
from swap_api.swaps.usecases.refresh_prices import RefreshPrices
from swap_api.swaps.usecases.store_swaps import StoreSwaps
from swap_chains.evm.codec import checksum_address
from swap_chains.evm.providers import providers_of
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_runtime.process.service import Service, run
from swap_runtime.public_catalogue import public_catalogue
from swap_runtime.telemetry.logging import configure_logging

SCHEMA_REVISION: Final = "0019"  # the last of the migrations
USES_INTERVAL: Final = timedelta(seconds=10)
RECORDS_INTERVAL: Final = timedelta(seconds=1)
FORGET_INTERVAL: Final = timedelta(minutes=1)


def main() -> None:
    configure_logging("api")  # first: a wrong setting is logged, too
    settings = ApiSettings()  # type: ignore[call-arg]  # the environment fills it
    run("api", settings, settings.api, build, schema_revision=SCHEMA_REVISION)


@dataclass(frozen=True, slots=True)
class Parts:
    """What `build` starts and stops; tests also use single parts."""

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
    record_requests: RecordRequests


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, ApiGroup)
    pricing = HttpPricing(group.quoter_url, answer_seconds=group.quoter_timeout.total_seconds())
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    session = open_session()
    nodes = catalogue, service.settings.node_urls(), session
    addresses = CheckedDepositAddresses(*nodes)
    service.on_start(addresses.verify_all)
    parts = build_parts(
        service,
        group,
        catalogue,
        FundingChains(
            gasless=EvmGaslessChains(*nodes),
            allowances=EvmAllowances(*nodes),
            wallets=EvmWallets(*nodes),
            deposit_addresses=addresses,
            depositories=EvmDepositories(*nodes),
        ),
        Guards.of(service.engine, catalogue, service.settings.screening, session),
        pricing=pricing,
        transactions=EvmChainTransactions(*nodes),
    )
    subscribe(service.subscriptions, store_swaps=parts.store_swaps, parking=service.parking("api"))
    # Before anybody asks, so that a start refuses nothing that was offered before it.
    await parts.offers.refresh()
    service.serve(parts.app, port=group.port, idle_timeout=group.idle_timeout)
    for method, path, handler in parts.door.routes():
        service.admin(method, path, handler)
    service.every("refresh-prices", group.prices_poll_interval, parts.refresh_prices.refresh)
    parts.guards.watch(service, group.stops_poll_interval)
    service.every("save-key-uses", USES_INTERVAL, parts.callers.save_uses)
    service.every("forget-idempotency-keys", FORGET_INTERVAL, parts.idempotency.forget_old)
    service.every("save-request-records", RECORDS_INTERVAL, parts.record_requests.save)
    service.every("forget-request-records", FORGET_INTERVAL, parts.record_requests.forget_old)
    service.on_stop(parts.record_requests.save)
    hints = PostgresHints(service.engine, clock=service.clock)
    service.every("delete-old-hints", FORGET_INTERVAL, hints.delete_old)
    parts.offers.watch(service, group.gasless_check_interval)
    for close in (parts.counters.close, parts.management.notifier.close, pricing.close):
        service.on_stop(close)
    service.on_stop(session.close)


def build_parts(
    service: Service,
    group: ApiGroup,
    catalogue: Catalogue,
    chains: FundingChains,
    guards: Guards,
    *,
    pricing: Pricing,
    transactions: ChainTransactions,
) -> Parts:
    """Build every package on these chains, and the ports that serve them."""
    engine, clock, public = service.engine, service.clock, public_catalogue(catalogue)
    keyless_caller = anybody(Environment(catalogue.environment))
    providers, lookups, errors = (
        _providers(service, catalogue),
        Lookups.of(engine),
        Errors(group.docs_url),
    )
    others = group.other_key_peppers
    hashes = KeyHashes(group.key_pepper, others)
    idempotency = PostgresIdempotency(engine, clock=clock)
    link_tokens = HmacLinkTokens(
        [key.get_secret_value().encode() for key in group.pay_link_keys],
        pepper=group.key_pepper.get_secret_value().encode(),
        other_peppers=[each.get_secret_value().encode() for each in others],
    )
    funding = build_funding(
        service, group, catalogue, public, chains, lookups=lookups, providers=providers
    )
    swaps = SwapsBuilding(
        service,
        group,
        catalogue,
        public,
        lookups=lookups,
        funding=funding,
        guards=guards,
        pricing=pricing,
        new_id=uuid4,
    ).build(idempotency=idempotency, transactions=transactions, errors=errors, providers=providers)
    pay = build_pay_links(
        engine,
        group,
        lookups=lookups,
        funding=funding,
        swaps=swaps,
        tokens=link_tokens,
        environment=keyless_caller.environment,
    )
    management = build_management(
        service, group, catalogue, hashes, swaps=lookups.swaps, new_id=uuid4
    )
    routes = management.routes()
    declared = endpoints(
        swaps.swaps,
        swaps.history,
        swaps.pricing,
        swaps.catalogue,
        authorizations=funding.authorizations,
        attachments=funding.attachments,
        pay=pay,
        **routes,
        member_swaps=management.member_swaps(lookups, swaps, pay),
    )
    table, managing = weighed(declared, group.rates.weights), of_management(**routes)
    apps = EndpointApps(UnknownNames((*table, *managing)), AnswerOnce(idempotency, new_id=uuid4))
    rotation = PostgresPepperRotation(engine, hashes)
    callers = PostgresCallers(engine, hashes, clock=clock, find_rotated=rotation.find)
    records = PostgresRequestRecords(engine)
    record_requests = RecordRequests(
        records,
        declared=declared_members(table),
        retention=group.request_log_retention,
        kept_of_app=group.request_log_per_app,
        clock=clock,
        new_id=uuid4,
    )
    counters = RedisCounters(service.settings.redis.url, fallback=LocalCounters(clock=clock))
    return Parts(
        endpoints=table,
        app=build_public_app(
            table,
            group,
            callers=callers,
            counters=counters,
            apps=apps,
            identify_member=management.identify_member,
            link_tokens=link_tokens,
            anybody=keyless_caller,
            record=record_requests,
        ),
        store_swaps=swaps.store_swaps,
        refresh_prices=swaps.refresh_prices,
        management=management,
        door=OperatorRoutes(
            managing,
            apps=apps,
            errors=errors,
            anybody=keyless_caller,
            new_request_id=request_ids(),
        ),
        callers=callers,
        idempotency=idempotency,
        counters=counters,
        offers=funding.offers,
        guards=guards,
        record_requests=record_requests,
    )


def _providers(service: Service, catalogue: Catalogue) -> dict[str, int]:
    nodes, networks = service.settings.node_urls(), catalogue.networks.values()
    urls = {network.name: nodes.get(network.name) or network.public_nodes for network in networks}
    return {name: len(providers_of(of_network)) for name, of_network in urls.items()}
