"""Builds the api from its packages, each by its own `build`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import uuid4

from starlette.routing import Router

from swap_api import observe
from swap_api.admission.build import AdmissionParts
from swap_api.admission.build import build as build_admission
from swap_api.admission.usecases.answer_once import AnswerOnce
from swap_api.funding.adapters.chains import (
    EvmAllowances,
    EvmDepositories,
    EvmGaslessChains,
    EvmWallets,
)
from swap_api.funding.adapters.deposit_addresses import CheckedDepositAddresses
from swap_api.funding.build import Funding, FundingChains
from swap_api.funding.build import build as build_funding
from swap_api.http.app import EndpointApps
from swap_api.http.endpoints import Endpoint, declared_members, with_weights
from swap_api.http.errors import Errors
from swap_api.http.operator_routes import OperatorRoutes
from swap_api.http.unknown_names import UnknownNames
from swap_api.management.build import Management
from swap_api.management.build import build as build_management
from swap_api.management.http.routes import management as of_management
from swap_api.model.keys import Environment
from swap_api.pay_links.build import build as build_pay_links
from swap_api.public_endpoints import endpoints
from swap_api.public_port import build_public_app
from swap_api.random_ids import request_ids
from swap_api.read_model.build import Lookups
from swap_api.request_log.build import RequestLog
from swap_api.request_log.build import build as build_request_log
from swap_api.settings import ApiGroup, ApiSettings
from swap_api.swaps.adapters.chain_transactions import EvmChainTransactions
from swap_api.swaps.adapters.quoter import HttpPricing
from swap_api.swaps.build import Guards, Swaps
from swap_api.swaps.build import build as build_swaps
from swap_api.swaps.handlers.swaps import subscribe
from swap_api.swaps.ports import ChainTransactions, Pricing
from swap_chains.evm.codec import checksum_address
from swap_chains.evm.providers import providers_of
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_runtime.postgres.assets_in_use import require_assets_in_use
from swap_runtime.process.service import Service, run
from swap_runtime.public_catalogue import public_catalogue
from swap_runtime.telemetry.logging import configure_logging

SCHEMA_REVISION: Final = "0021"  # the last of the migrations
HINTS_INTERVAL: Final = timedelta(minutes=1)


def main() -> None:
    configure_logging("api")  # first: a wrong setting is logged, too
    settings = ApiSettings()  # type: ignore[call-arg]  # the environment fills it
    run("api", settings, settings.api, build, schema_revision=SCHEMA_REVISION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The packages, and what the two ports serve."""

    admission: AdmissionParts
    funding: Funding
    swaps: Swaps
    management: Management
    guards: Guards
    request_log: RequestLog
    endpoints: Sequence[Endpoint]  # of the public port
    app: Router
    operator_routes: OperatorRoutes


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, ApiGroup)
    pricing = HttpPricing(group.quoter_url, answer_seconds=group.quoter_timeout.total_seconds())
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    service.on_start(lambda: require_assets_in_use(service.engine, catalogue))
    session = open_session()
    nodes = catalogue, service.settings.node_urls(), session
    addresses = CheckedDepositAddresses(*nodes)
    service.on_start(addresses.verify_all)
    guards = Guards.of(service.engine, catalogue, service.settings.screening, session)
    chains = FundingChains(
        gasless=EvmGaslessChains(*nodes),
        allowances=EvmAllowances(*nodes),
        wallets=EvmWallets(*nodes),
        deposit_addresses=addresses,
        depositories=EvmDepositories(*nodes),
    )
    transactions = EvmChainTransactions(*nodes)
    parts = build_parts(
        service, group, catalogue, chains, guards, pricing=pricing, transactions=transactions
    )
    store_swaps = parts.swaps.store_swaps
    subscribe(service.subscriptions, store_swaps=store_swaps, parking=service.parking("api"))
    # Before the port opens, so that a start refuses nothing that was offered before it.
    await parts.funding.offers.refresh()
    service.serve(parts.app, port=group.port, idle_timeout=group.idle_timeout)
    for method, path, handler in parts.operator_routes.routes():
        service.admin(method, path, handler)
    service.every("refresh-prices", group.prices_poll_interval, parts.swaps.refresh_prices.refresh)
    parts.guards.watch(service, group.stops_poll_interval)
    parts.admission.watch(service)
    parts.request_log.watch(service)
    service.every("delete-old-hints", HINTS_INTERVAL, parts.swaps.hints.delete_old)
    parts.funding.offers.watch(service, group.gasless_check_interval)
    for close in (parts.management.notifier.close, pricing.close, session.close):
        service.on_stop(close)


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
    public, providers = public_catalogue(catalogue), _providers(service, catalogue)
    errors, lookups = Errors(group.docs_url), Lookups.of(service.engine)
    of_all = service, group, catalogue, public
    admission = build_admission(service, group, Environment(catalogue.environment))
    funding = build_funding(*of_all, chains, lookups=lookups, providers=providers)
    idempotency = admission.idempotency
    swaps = build_swaps(
        *of_all,
        lookups=lookups,
        funding=funding,
        guards=guards,
        pricing=pricing,
        transactions=transactions,
        idempotency=idempotency,
        errors=errors,
        providers=providers,
        new_id=uuid4,
    )
    pay = build_pay_links(service.engine, group, lookups, admission, funding=funding, swaps=swaps)
    management = build_management(*of_all, admission, swaps=lookups.swaps, new_id=uuid4)
    managing_handlers = management.handlers()
    declared = endpoints(
        {
            **managing_handlers,
            "swaps": swaps.swaps,
            "history": swaps.history,
            "pricing": swaps.pricing,
            "catalogue": swaps.catalogue,
            "authorizations": funding.authorizations,
            "attachments": funding.attachments,
            "pay": pay,
            "member_swaps": management.member_swaps(swaps, pay),
        }
    )
    table, managing = with_weights(declared, group.rates.weights), of_management(managing_handlers)
    observe.routes_listed({endpoint.path for endpoint in table})
    apps = EndpointApps(UnknownNames((*table, *managing)), AnswerOnce(idempotency, new_id=uuid4))
    request_log = build_request_log(service, group, declared=declared_members(table), new_id=uuid4)
    return Parts(
        admission=admission,
        funding=funding,
        swaps=swaps,
        request_log=request_log,
        management=management,
        guards=guards,
        endpoints=table,
        app=build_public_app(
            table, group, apps=apps, parts=admission, record=request_log.record_requests
        ),
        operator_routes=OperatorRoutes(
            managing,
            apps=apps,
            errors=errors,
            anonymous_caller=admission.keyless_caller,
            new_request_id=request_ids(),
        ),
    )


def _providers(service: Service, catalogue: Catalogue) -> dict[str, int]:
    nodes, networks = service.settings.node_urls(), catalogue.networks.values()
    urls = {network.name: nodes.get(network.name) or network.public_nodes for network in networks}
    return {name: len(providers_of(of_network)) for name, of_network in urls.items()}
