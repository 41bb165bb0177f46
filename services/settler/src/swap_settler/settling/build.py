"""What is done about requests, deposits and payouts, put together."""

from __future__ import annotations

from collections.abc import Mapping

from swap_chains.evm.l1_data_fees import l1_data_fees
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc
from swap_domain.catalogue import Catalogue
from swap_runtime.process.service import Service
from swap_settler.model.messages.message_mapping import MessageMapper
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.store.channels import REQUOTE_DUE
from swap_settler.model.store.unit_of_work import CONSUMER, PostgresUnitOfWork
from swap_settler.settings import SettlerGroup
from swap_settler.settling.adapters.quoter import HttpPricing
from swap_settler.settling.handlers import deposits, payouts, requests
from swap_settler.settling.store.due_refunds import PostgresDueRefunds
from swap_settler.settling.store.due_requotes import PostgresDueRequotes
from swap_settler.settling.usecases.complete_swaps import CompleteSwaps
from swap_settler.settling.usecases.expire_swaps import ExpireSwaps
from swap_settler.settling.usecases.request_swaps import RequestSwaps
from swap_settler.settling.usecases.requote_swaps import RequoteSwaps
from swap_settler.settling.usecases.settle_deposits import SettleDeposits
from swap_settler.settling.usecases.settle_payouts import SettlePayouts
from swap_settler.settling.usecases.start_refunds import StartRefunds


def build(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    swap_messages: SwapMessages,
    chains: Mapping[str, EvmReader],
    *,
    rpcs: Mapping[str, Rpc],
    pricing: HttpPricing,
) -> None:
    _settle(service, group, catalogue, swap_messages)
    _requote(service, group, swap_messages, pricing)
    _refund(service, group, catalogue, swap_messages, chains, rpcs=rpcs)


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
        l1_data_fee = network.l1_data_fee
        start_refunds = StartRefunds(
            work,
            refunds=refunds,
            chain=chains[network.name],
            network=network,
            clock=service.clock,
            swap_messages=swap_messages,
            patience=group.payout_dwell,
            data_fee=l1_data_fees(rpcs[network.name], l1_data_fee) if l1_data_fee else None,
        )
        service.every(f"start-refunds-{network.name}", group.refund_interval, start_refunds)
