"""Sweeps of deposit addresses and withdrawals of the owner, put together."""

from __future__ import annotations

from collections.abc import Mapping

from swap_chains.evm.reader import EvmReader
from swap_domain.catalogue import Catalogue
from swap_runtime.process.service import Service
from swap_settler.model.store.treasury_withdrawals import PostgresWithdrawals
from swap_settler.model.store.unit_of_work import CONSUMER, PostgresUnitOfWork
from swap_settler.settings import SettlerGroup
from swap_settler.sweeping.store.due_sweeps import PostgresDueSweeps
from swap_settler.sweeping.usecases.book_sweeps import BookSweeps
from swap_settler.sweeping.usecases.book_withdrawals import BookWithdrawals
from swap_settler.sweeping.usecases.order_sweeps import OrderSweeps


def build(
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
