"""Builds the sender lanes: one per network and hot key, each under its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta

import aiohttp

from swap_chains.evm.check import Derivation, check_chain
from swap_chains.evm.keys import Key
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.sender import EvmSender
from swap_domain.catalogue import NATIVE, Network
from swap_runtime.database import forbid_open_transaction
from swap_runtime.leases import Lease
from swap_runtime.screening import Screening
from swap_runtime.service import Service
from swap_runtime.supervision import Beat
from swap_settler import observe
from swap_settler.adapters.keys import open_keys
from swap_settler.adapters.lane_store import LaneName, PostgresLaneStore
from swap_settler.adapters.lane_unit_of_work import PostgresLaneUnitOfWork
from swap_settler.domain.lane import GasAlarm, GasUnits, Retries
from swap_settler.domain.replacing import Patience
from swap_settler.settings import SettlerGroup
from swap_settler.usecases.announcing import Announcer
from swap_settler.usecases.close_slots import CloseSlots
from swap_settler.usecases.end_relays import EndRelays
from swap_settler.usecases.give_up_payouts import GiveUpPayouts
from swap_settler.usecases.lane_calls import LaneCalls
from swap_settler.usecases.mark_sent import MarkSent
from swap_settler.usecases.rebroadcast import Rebroadcast
from swap_settler.usecases.replace_stuck import ReplaceStuck
from swap_settler.usecases.run_lane import RunLane
from swap_settler.usecases.screen_payments import ScreenPayments
from swap_settler.usecases.send_payouts import SendPayouts
from swap_settler.usecases.send_sweeps import SendSweeps
from swap_settler.usecases.snapshot_treasury import SnapshotTreasury
from swap_settler.usecases.tell_sent import HearsAnswers, TellSent

NAME = "settler"
LEASE_TERM = timedelta(seconds=6)


@dataclass(frozen=True, slots=True)
class Chain:
    """One network, with what reads it and what spends on it."""

    network: Network
    rpc: Rpc
    reader: EvmReader
    sender: EvmSender

    @classmethod
    def of(
        cls, network: Network, urls: tuple[str, ...], key: Key, session: aiohttp.ClientSession
    ) -> Chain:
        # A payout asks for its trial, the fees and who runs code at once.
        rpc = open_rpc(network, urls, session, asks_together=True)
        sender = EvmSender(rpc, chain_id=network.chain_id, key=key)
        return cls(network, rpc, open_reader(network, rpc), sender)

    async def check(self) -> None:
        """
        :raises ChainMismatch: or WrongChain, when signing here would be a mistake.
        """
        contracts = self.network.contracts
        await check_chain(
            self.rpc,
            chain_id=self.network.chain_id,
            depository=contracts.depository,
            treasury=contracts.treasury,
            decimals={token.address: token.decimals for token in self.network.tokens},
            operator=self.sender.address,
            derivation=derivation_of(self.network),
        )


def derivation_of(network: Network) -> Derivation | None:
    """Return how the network's deposit addresses are computed, where it has some."""
    addresses = network.contracts.deposit_addresses
    if addresses is None:
        return None
    return Derivation(addresses.factory, addresses.init_code_hash, network.contracts.treasury)


def open_rpc(
    network: Network,
    urls: tuple[str, ...],
    session: aiohttp.ClientSession,
    *,
    asks_together: bool = False,
) -> Rpc:
    """Return what asks a network's nodes: the private ones, where some are set."""
    return Rpc.to_urls(
        network.name,
        urls or network.public_nodes,
        session,
        before_call=lambda: forbid_open_transaction("rpc"),
        asks_together=asks_together,
    )


def open_reader(network: Network, rpc: Rpc) -> EvmReader:
    contracts = network.contracts
    return EvmReader(
        rpc,
        depository=contracts.depository or contracts.treasury,
        treasury=contracts.treasury,
        tokens=[token.address for token in network.tokens],
    )


def add_lanes(
    service: Service,
    group: SettlerGroup,
    *,
    networks: Mapping[str, Network],
    nodes: Mapping[str, tuple[str, ...]],
    session: aiohttp.ClientSession,
    announcer: Announcer,
    screening: Screening,
) -> None:
    """Add a lane for every signer of the catalogue whose key this process was given."""
    keys = open_keys(group, session, clock=service.clock)
    for network in networks.values():
        for signer in network.signers:
            if signer not in keys:
                observe.signer_without_key(network.name, signer)
            else:
                chain = Chain.of(network, nodes.get(network.name, ()), keys[signer], session)
                _add_lane(service, group, chain, announcer=announcer, screening=screening)


def _add_lane(
    service: Service,
    group: SettlerGroup,
    chain: Chain,
    *,
    announcer: Announcer,
    screening: Screening,
) -> None:
    lane = LaneName(chain.network.name, chain.sender.address)
    wake = service.wakes.on(f"intent_{lane.network}")

    async def run(beat: Beat, lease: Lease) -> None:
        assert lease.epoch is not None
        # Built anew for every term: what one holder remembers is nothing to the next.
        work = _lane(service, group, chain, lane, announcer=announcer, screening=screening)
        await _until_one_ends(
            work.send(wake, epoch=lease.epoch, beat=beat),
            work.look_after(epoch=lease.epoch, beat=beat),
            work.tell(beat=beat),
        )

    service.lead(lane.lease, run, term=LEASE_TERM)


def _lane(
    service: Service,
    group: SettlerGroup,
    chain: Chain,
    lane: LaneName,
    *,
    announcer: Announcer,
    screening: Screening,
) -> RunLane:
    network, treasury = chain.network, chain.network.contracts.treasury
    store = PostgresLaneStore(service.engine, lane)
    work = PostgresLaneUnitOfWork(service.engine, consumer=NAME, lane=lane)
    mark_sent = MarkSent(work, clock=service.clock, announcer=announcer)
    tell_sent = TellSent(mark_sent)
    give_up = GiveUpPayouts(
        work,
        clock=service.clock,
        announcer=announcer,
        retries=Retries(group.payout_attempts_max, group.payout_retry_pause, group.payout_dwell),
    )
    end_relays = EndRelays(work, chain=chain.reader, clock=service.clock, announcer=announcer)
    calls = _calls(network, lane.signer)
    send = SendPayouts(
        chain=chain.reader,
        sender=chain.sender,
        store=store,
        tell=tell_sent,
        give_up=give_up,
        end_relays=end_relays,
        calls=calls,
        screen=ScreenPayments(screening, network=network.name, store=store, give_up=give_up),
        fee_cap=network.max_fee_per_gas,
        slots_max=group.payout_slots_max,
        payments_max=group.payout_batch_max,
    )
    replace = ReplaceStuck(
        chain=chain.reader,
        sender=chain.sender,
        store=store,
        mark_sent=mark_sent,
        calls=calls,
        patience=Patience(group.replace_after, group.payout_dwell, network.max_fee_per_gas),
    )
    rebroadcast = Rebroadcast(
        sender=chain.sender, store=store, mark_sent=mark_sent, older_than=group.rebroadcast_after
    )
    close_slots = CloseSlots(
        chain=chain.reader,
        signer=lane.signer,
        native=NATIVE,
        store=store,
        unit_of_work=work,
        give_up=give_up,
        end_relays=end_relays,
        clock=service.clock,
        announcer=announcer,
        gas_alarm=GasAlarm(network.max_fee_per_gas * network.gas.pay_erc20, group.gas_payments_min),
    )
    snapshot = SnapshotTreasury(
        chain=chain.reader,
        treasury=treasury,
        tokens=[token.address for token in network.tokens],
        store=store,
        unit_of_work=work,
    )
    return RunLane(
        chain=chain.reader,
        signer=lane.signer,
        store=store,
        send=send,
        rebroadcast=rebroadcast,
        replace=replace,
        close_slots=close_slots,
        tell_sent=tell_sent,
        snapshot=snapshot,
        check_chain=chain.check,
        poll_interval=group.lane_poll_interval,
        upkeep_interval=group.lane_upkeep_interval,
        sweep=_sweeping(group, chain, store, tell_sent, calls),
    )


def _calls(network: Network, signer: str) -> LaneCalls:
    units, addresses = network.gas, network.contracts.deposit_addresses
    gas = GasUnits(units.pay_native, units.pay_erc20, units.sweep_native, units.sweep_erc20)
    factory = None if addresses is None else addresses.factory
    return LaneCalls(network.contracts.treasury, signer, NATIVE, gas, factory)


def _sweeping(
    group: SettlerGroup,
    chain: Chain,
    store: PostgresLaneStore,
    tell: HearsAnswers,
    calls: LaneCalls,
) -> SendSweeps | None:
    if chain.network.contracts.deposit_addresses is None:
        return None
    return SendSweeps(
        chain=chain.reader,
        sender=chain.sender,
        store=store,
        tell=tell,
        calls=calls,
        fee_cap=chain.network.max_fee_per_gas,
        in_flight_max=max(group.payout_slots_max // 2, 1),
        sweeps_max=group.payout_batch_max,
    )


async def _until_one_ends(*works: Coroutine[None, None, None]) -> None:
    """Run them side by side; what one raises ends the others and is raised as it is."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
