"""Builds the settler from its packages, each by its own `build`."""

from __future__ import annotations

from typing import Final

from swap_chains.evm.codec import checksum_address
from swap_chains.evm.rpc import open_session
from swap_runtime.catalogue import load_catalogue
from swap_runtime.postgres.assets_in_use import require_assets_in_use
from swap_runtime.process.service import Service, run
from swap_runtime.telemetry.logging import configure_logging
from swap_settler.gasless.build import build as build_gasless
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.operator.build import build as build_operator
from swap_settler.operator.decide.stakes import MICROS
from swap_settler.operator.http.second_operator import SecondOperator
from swap_settler.operator.store.stakes import PostgresStakes
from swap_settler.operator.usecases.weigh_orders import WeighOrders
from swap_settler.paying.adapters.chains import open_reader, open_rpc
from swap_settler.paying.build import build as build_paying
from swap_settler.recovery.build import build as build_recovery
from swap_settler.settings import SettlerGroup, SettlerSettings
from swap_settler.settling.adapters.quoter import HttpPrices, HttpPricing
from swap_settler.settling.build import build as build_settling
from swap_settler.sweeping.build import build as build_sweeping

SCHEMA_REVISION: Final = "0052"  # the last of the migrations


def main() -> None:
    configure_logging("settler")  # first: a wrong setting is logged, too
    settings = SettlerSettings()  # type: ignore[call-arg]  # the environment fills it
    run("settler", settings, settings.settler, build, schema_revision=SCHEMA_REVISION)


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, SettlerGroup)
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    service.on_start(lambda: require_assets_in_use(service.engine, catalogue))
    swap_messages = SwapMessages(catalogue)
    session = open_session()
    service.on_stop(session.close)
    prices = HttpPrices(group.quoter_url, session)
    networks, nodes = catalogue.networks, service.settings.node_urls()
    rpcs = {n: open_rpc(network, nodes.get(n, ()), session) for n, network in networks.items()}
    chains = {n: open_reader(networks[n], rpc) for n, rpc in rpcs.items()}
    proofs = {n: open_reader(networks[n], rpc, needs_two=True) for n, rpc in rpcs.items()}
    weigh_orders = WeighOrders(
        PostgresStakes(service.engine),
        prices,
        catalogue=catalogue,
        above_usd_micros=group.second_operator_above_usd * MICROS,
    )
    ends_hold = SecondOperator(weigh_orders).ends_hold
    build_gasless(service, group, swap_messages)
    build_sweeping(service, group, catalogue, chains)
    build_settling(
        service,
        group,
        catalogue,
        swap_messages,
        chains,
        rpcs=rpcs,
        pricing=HttpPricing(group.quoter_url, session),
    )
    build_paying(service, group, catalogue, swap_messages, session)
    build_recovery(service, group, networks, chains, proofs, ends_hold=ends_hold)
    build_operator(
        service,
        group,
        catalogue,
        swap_messages,
        prices,
        chains=chains,
        proofs=proofs,
        weigh_orders=weigh_orders,
    )
