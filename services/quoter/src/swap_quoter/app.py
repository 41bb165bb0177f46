"""Wires the quoter: settings, price sources, stores and use cases."""

from __future__ import annotations

from typing import Final

import aiohttp

from swap_chains.evm.codec import checksum_address
from swap_chains.evm.price_feeds import EvmPriceFeeds
from swap_chains.evm.provider_agreement import one_provider_networks
from swap_chains.evm.rpc import Rpc, open_session
from swap_domain.catalogue import Catalogue
from swap_quoter import observe
from swap_quoter.adapters.chain_feeds import ChainFeeds, Feed
from swap_quoter.adapters.chain_gas import ChainGas
from swap_quoter.adapters.known_market import PostgresKnownMarket
from swap_quoter.adapters.price_file import PriceFile
from swap_quoter.adapters.statements import MARKET_CHANGED
from swap_quoter.adapters.unit_of_work import PostgresUnitOfWork
from swap_quoter.domain.agreement import Bounds
from swap_quoter.domain.market import Market, to_usd_e18
from swap_quoter.domain.routes import Routes
from swap_quoter.domain.terms import TermsBook
from swap_quoter.handlers import inventory, swaps
from swap_quoter.http.app import QuoterEndpoints, quoter_app
from swap_quoter.http.errors import code_of
from swap_quoter.ports import PriceSource
from swap_quoter.settings import QuoterGroup, QuoterSettings
from swap_quoter.usecases.explain_quotes import ExplainQuotes
from swap_quoter.usecases.find_terms import FindTerms
from swap_quoter.usecases.follow_gas import FollowGas
from swap_quoter.usecases.follow_prices import FollowPrices, PriceBook
from swap_quoter.usecases.give_limits import GiveLimits
from swap_quoter.usecases.give_quotes import GiveQuotes
from swap_quoter.usecases.give_ranges import GiveRanges
from swap_quoter.usecases.list_prices import ListPrices
from swap_quoter.usecases.load_market import LoadMarket
from swap_quoter.usecases.record_completions import RecordCompletions
from swap_quoter.usecases.record_inventory import RecordInventory
from swap_runtime.catalogue import load_catalogue
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import forbid_open_transaction
from swap_runtime.process.service import Service, run
from swap_runtime.telemetry.logging import configure_logging

SCHEMA_REVISION: Final = "0004"  # the last of the migrations


def main() -> None:
    configure_logging("quoter")  # first: a wrong setting is logged, too
    settings = QuoterSettings()  # type: ignore[call-arg]  # the environment fills it
    run(
        "quoter", settings, settings.quoter, build, publishes=False, schema_revision=SCHEMA_REVISION
    )


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, QuoterGroup)
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    market = Market(
        prices_max_age=None if group.prices_never_expire else group.prices_max_age,
        gas_max_age=group.gas_max_age,
    )
    endpoints = build_endpoints(catalogue, market, group, service.clock)
    load_market = LoadMarket(PostgresKnownMarket(service.engine), market)

    session = open_session(connections_per_node=1)
    service.on_stop(session.close)
    gas_followers = _gas_followers(service, catalogue, market, session)

    def has_market() -> bool:
        # A network that gives no answer closes its own routes, and no others.
        has_asked = all(each.has_asked for each in gas_followers.values())
        return load_market.is_loaded and bool(market.prices) and has_asked

    async def is_ready() -> None:
        if not has_market():
            raise Unavailable("prices or inventory were not read yet")

    app = quoter_app(endpoints, is_known=has_market)
    service.serve(app, port=group.port, is_internal=True)
    service.ready_when("market", is_ready)
    _consume(service, group)
    service.every(
        "load-market",
        group.market_poll_interval,
        load_market,
        wake=service.wakes.on(MARKET_CHANGED),
    )
    _follow_prices(service, group, catalogue, market, session)
    for network, follow_gas in gas_followers.items():
        service.every(f"follow-gas {network}", group.gas_poll_interval, follow_gas)


def build_endpoints(
    catalogue: Catalogue, market: Market, group: QuoterGroup, clock: Clock
) -> QuoterEndpoints:
    """Return the endpoints on a market that other tasks keep up to date."""
    routes = Routes(catalogue)
    terms = TermsBook(market, refuel_usd_e18=to_usd_e18(group.refuel_usd))
    find_terms = FindTerms(routes, terms, clock=clock)
    return QuoterEndpoints(
        give_quotes=GiveQuotes(
            find_terms, market, ExplainQuotes(find_terms, market, clock=clock, code_of=code_of)
        ),
        give_limits=GiveLimits(find_terms),
        give_ranges=GiveRanges(find_terms, market),
        list_prices=ListPrices(routes, market, clock=clock),
    )


def _consume(service: Service, group: QuoterGroup) -> None:
    work = PostgresUnitOfWork(service.engine, consumer="quoter")
    parking = service.parking("quoter")
    inventory.subscribe(
        service.subscriptions, record_inventory=RecordInventory(work), parking=parking
    )
    swaps.subscribe(
        service.subscriptions,
        record_completions=RecordCompletions(work, window=group.completions_window),
        parking=parking,
    )


def _gas_followers(
    service: Service, catalogue: Catalogue, market: Market, session: aiohttp.ClientSession
) -> dict[str, FollowGas]:
    """Return, by network, what follows the price of its gas."""
    observe.networks_listed(catalogue.networks)
    private = service.settings.node_urls()
    return {
        network.name: FollowGas(
            ChainGas.of_nodes(
                network.name,
                private.get(network.name, network.public_nodes),
                session,
                chain_id=network.chain_id,
                l1=network.l1_data_fee,
                units_min=network.gas.least,
            ),
            market,
            clock=service.clock,
        )
        for network in catalogue.networks.values()
    }


def _follow_prices(
    service: Service,
    group: QuoterGroup,
    catalogue: Catalogue,
    market: Market,
    session: aiohttp.ClientSession,
) -> None:
    """Follow the file and, network by network, the feeds on chain: none waits for another.

    :raises UnknownNetwork: when a feed is on a network that the catalogue does not name.
    """
    clock, private = service.clock, service.settings.node_urls()
    bounds = Bounds(market.prices_max_age, group.prices_deviation_basis_points)
    rpcs = {
        name: Rpc.to_urls(
            name,
            private.get(name, catalogue.network(name).public_nodes),
            session,
            timeout_seconds=2,
            rounds=1,
            before_call=lambda: forbid_open_transaction("rpc"),
            coalesces_requests=True,
            chain_id=catalogue.network(name).chain_id,
        )
        for name in dict.fromkeys(feed.network for feed in group.feeds)
    }
    sources: dict[str, PriceSource] = {"file": PriceFile(group.prices_file)}
    for name, rpc in rpcs.items():
        feeds = [
            Feed(feed.symbol, feed.aggregator, feed.max_age)
            for feed in group.feeds
            if feed.network == name
        ]
        sources[name] = ChainFeeds(feeds, EvmPriceFeeds(rpc), clock=clock)
    of_one_provider = one_provider_networks(
        catalogue, {name: len(rpc.providers) for name, rpc in rpcs.items()}
    )
    for name in of_one_provider:
        observe.feeds_need_another_source(name)
    book = PriceBook(market, bounds, single_provider_sources=of_one_provider)
    observe.sources_listed(sources)
    for name, source in sources.items():
        follow_prices = FollowPrices(source, book, name=name, clock=clock)
        service.every(f"follow-prices {name}", group.prices_poll_interval, follow_prices)
