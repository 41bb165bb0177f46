"""Builds the settler. The only module that knows every concrete class."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import aiohttp

from swap_chains.evm.codec import checksum_address
from swap_chains.evm.l1_data_fees import l1_data_fees
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc, open_session
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_runtime.logging import configure_logging
from swap_runtime.screening import (
    BlockList,
    FreshList,
    NobodysAddresses,
    Screening,
    Screenings,
    ScreeningService,
)
from swap_runtime.service import Service, run
from swap_settler.gasless.usecases.expire_authorizations import ExpireAuthorizations
from swap_settler.model.messages.message_mapping import MessageMapper
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.store.channels import REQUOTE_DUE
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.store.withdrawal_work import PostgresWithdrawals
from swap_settler.operator.build import serve_orders
from swap_settler.operator.decide.stakes import MICROS
from swap_settler.operator.http.admin import Admin
from swap_settler.operator.http.second_operator import SecondOperator
from swap_settler.operator.store.records import PostgresRecords
from swap_settler.operator.store.stakes import PostgresStakes
from swap_settler.operator.usecases.inspect_swaps import InspectSwaps
from swap_settler.operator.usecases.list_claimable import ListClaimable
from swap_settler.operator.usecases.list_stuck import ListStuck
from swap_settler.operator.usecases.weigh_orders import WeighOrders
from swap_settler.paying.adapters.chains import open_reader, open_rpc
from swap_settler.paying.build import add_lanes
from swap_settler.paying.usecases.abandon_waiting_payouts import AbandonWaitingPayouts
from swap_settler.recovery.build import add_recovery
from swap_settler.settings import SettlerGroup, SettlerSettings
from swap_settler.settling.adapters.quoter import HttpPrices, HttpPricing
from swap_settler.settling.decide.dwelling import Dwell
from swap_settler.settling.handlers import deposits, payouts, requests
from swap_settler.settling.store.due_refunds import PostgresDueRefunds
from swap_settler.settling.store.due_requotes import PostgresDueRequotes
from swap_settler.settling.store.dwelling import PostgresDwelling
from swap_settler.settling.usecases.complete_swaps import CompleteSwaps
from swap_settler.settling.usecases.expire_swaps import ExpireSwaps
from swap_settler.settling.usecases.request_swaps import RequestSwaps
from swap_settler.settling.usecases.requote_swaps import RequoteSwaps
from swap_settler.settling.usecases.settle_deposits import SettleDeposits
from swap_settler.settling.usecases.settle_payouts import SettlePayouts
from swap_settler.settling.usecases.start_refunds import StartRefunds
from swap_settler.sweeping.store.due_sweeps import PostgresDueSweeps
from swap_settler.sweeping.usecases.book_sweeps import BookSweeps
from swap_settler.sweeping.usecases.book_withdrawals import BookWithdrawals
from swap_settler.sweeping.usecases.order_sweeps import OrderSweeps

CONSUMER = "settler"
STUCK_INTERVAL = timedelta(seconds=10)


def main() -> None:
    configure_logging("settler")  # first: a wrong setting is logged, too
    settings = SettlerSettings()  # type: ignore[call-arg]  # the environment fills it
    run("settler", settings, settings.settler, build)


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, SettlerGroup)
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    swap_messages = SwapMessages(catalogue)
    session = open_session()
    service.on_stop(session.close)
    _settle(service, group, catalogue, swap_messages)
    _requote(service, group, swap_messages, HttpPricing(group.quoter_url, session))
    add_lanes(
        service,
        group,
        networks=catalogue.networks,
        nodes=service.settings.node_urls(),
        session=session,
        swap_messages=swap_messages,
        screening=_screening(service, session, environment=catalogue.environment),
    )
    networks, nodes = catalogue.networks, service.settings.node_urls()
    rpcs = {n: open_rpc(network, nodes.get(n, ()), session) for n, network in networks.items()}
    chains = {n: open_reader(networks[n], rpc) for n, rpc in rpcs.items()}
    proofs = {n: open_reader(networks[n], rpc, needs_two=True) for n, rpc in rpcs.items()}
    prices = HttpPrices(group.quoter_url, session)
    weigh_orders = WeighOrders(
        PostgresStakes(service.engine),
        prices,
        catalogue=catalogue,
        above_usd_micros=group.second_operator_above_usd * MICROS,
    )
    second = SecondOperator(weigh_orders)
    add_recovery(service, group, networks, chains, proofs, ends_hold=second.ends_hold)
    _refund(service, group, catalogue, swap_messages, chains, rpcs=rpcs)
    _sweep(service, group, catalogue, chains)
    list_stuck = _watch_dwelling(service, group, catalogue, swap_messages)
    _serve_operators(service, list_stuck)
    serve_orders(
        service,
        group,
        catalogue,
        swap_messages,
        prices,
        chains=chains,
        proofs=proofs,
        weigh_orders=weigh_orders,
    )


def _screening(service: Service, session: aiohttp.ClientSession, *, environment: str) -> Screening:
    settings = service.settings.screening
    screenings: list[Screening] = [
        NobodysAddresses(environment=environment),
        FreshList(BlockList(service.engine)),
    ]
    if settings.url:
        screenings.append(ScreeningService(settings, session))
    return Screenings(*screenings)


def _settle(
    service: Service, group: SettlerGroup, catalogue: Catalogue, swap_messages: SwapMessages
) -> None:
    to, clock, parking = service.subscriptions, service.clock, service.parking(CONSUMER)
    work, mapper = PostgresUnitOfWork(service.engine, consumer=CONSUMER), MessageMapper(catalogue)
    requests.subscribe(
        to,
        request_swaps=RequestSwaps(
            work, clock=clock, swap_messages=swap_messages, catalogue=catalogue
        ),
        parking=parking,
    )
    deposits.subscribe(
        to,
        settle_deposits=SettleDeposits(
            work, clock=clock, mapper=mapper, swap_messages=swap_messages
        ),
        parking=parking,
    )
    payouts.subscribe(
        to,
        settle_payouts=SettlePayouts(work, clock=clock, mapper=mapper, swap_messages=swap_messages),
        parking=parking,
    )
    expire_swaps = ExpireSwaps(work, clock=clock, swap_messages=swap_messages)
    service.every("expire-swaps", group.expiry_interval, expire_swaps)
    expire_authorizations = ExpireAuthorizations(work, clock=clock, swap_messages=swap_messages)
    service.every("expire-authorizations", group.expiry_interval, expire_authorizations)
    complete_swaps = CompleteSwaps(work, clock=clock, swap_messages=swap_messages)
    service.every("complete-swaps", group.expiry_interval, complete_swaps)


def _requote(
    service: Service, group: SettlerGroup, swap_messages: SwapMessages, pricing: HttpPricing
) -> None:
    requote_swaps = RequoteSwaps(
        PostgresUnitOfWork(service.engine, consumer=CONSUMER),
        requotes=PostgresDueRequotes(service.engine, consumer=CONSUMER),
        pricing=pricing,
        clock=service.clock,
        swap_messages=swap_messages,
        patience=group.requote_patience,
        pause=group.requote_pause,
    )
    wake = service.wakes.on(REQUOTE_DUE)
    service.every("requote-swaps", group.requote_interval, requote_swaps, wake=wake)


def _refund(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    swap_messages: SwapMessages,
    chains: Mapping[str, EvmReader],
    *,
    rpcs: Mapping[str, Rpc],
) -> None:
    work = PostgresUnitOfWork(service.engine, consumer=CONSUMER)
    refunds = PostgresDueRefunds(service.engine)
    for network in catalogue.networks.values():
        told = network.l1_data_fee
        start_refunds = StartRefunds(
            work,
            refunds=refunds,
            chain=chains[network.name],
            network=network,
            clock=service.clock,
            swap_messages=swap_messages,
            patience=group.payout_dwell,
            data_fee=l1_data_fees(rpcs[network.name], told) if told else None,
        )
        service.every(f"start-refunds-{network.name}", group.refund_interval, start_refunds)


def _sweep(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    chains: Mapping[str, EvmReader],
) -> None:
    work = PostgresUnitOfWork(service.engine, consumer=CONSUMER)
    sweeps = PostgresDueSweeps(service.engine)
    withdrawals = PostgresWithdrawals(service.engine)
    book_withdrawals = BookWithdrawals(work, withdrawals=withdrawals, clock=service.clock)
    service.every("book-withdrawals", group.sweep_booking_interval, book_withdrawals)
    for network in catalogue.networks.values():
        book_sweeps = BookSweeps(work, sweeps=sweeps, network=network, clock=service.clock)
        service.every(f"book-sweeps-{network.name}", group.sweep_booking_interval, book_sweeps)
        if network.contracts.deposit_addresses is None:
            continue
        order_sweeps = OrderSweeps(
            work,
            sweeps=sweeps,
            chain=chains[network.name],
            network=network,
            clock=service.clock,
            again_after=group.sweep_interval,
        )
        service.every(f"order-sweeps-{network.name}", group.sweep_interval, order_sweeps)


def _watch_dwelling(
    service: Service, group: SettlerGroup, catalogue: Catalogue, swap_messages: SwapMessages
) -> ListStuck:
    dwelling = PostgresDwelling(service.engine, networks=list(catalogue.networks))
    abandon_waiting_payouts = AbandonWaitingPayouts(
        PostgresUnitOfWork(service.engine, consumer=CONSUMER),
        dwelling=dwelling,
        clock=service.clock,
        swap_messages=swap_messages,
        dwell=group.payout_dwell,
    )
    service.every("abandon-waiting-payouts", STUCK_INTERVAL, abandon_waiting_payouts)
    return ListStuck(dwelling, Dwell(payment=group.payout_dwell, requote=group.requote_patience))


def _serve_operators(service: Service, list_stuck: ListStuck) -> None:
    records = PostgresRecords(service.engine)

    async def report_stuck() -> None:
        await list_stuck()

    service.every("report-stuck", STUCK_INTERVAL, report_stuck)
    admin = Admin(
        inspect_swaps=InspectSwaps(records),
        list_claimable=ListClaimable(records),
        list_stuck=list_stuck,
    )
    service.admin("GET", "/swaps/{id}", admin.swap)
    service.admin("GET", "/claimable", admin.claimable)
    service.admin("GET", "/stuck", admin.stuck)
