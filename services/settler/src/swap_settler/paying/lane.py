"""One signer's lane, put together: what it sends with, looks after and keeps its books by."""

from __future__ import annotations

from datetime import timedelta

from swap_chains.evm.codec import checksum_address
from swap_domain.catalogue import NATIVE
from swap_runtime.process.service import Service
from swap_runtime.screening import Screening
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.paying.adapters.chains import Chain
from swap_settler.paying.decide.lane import GasAlarm, GasUnits, Retries
from swap_settler.paying.decide.replacing import Patience
from swap_settler.paying.store.fences import PostgresFences
from swap_settler.paying.store.lane_store import LaneName, PostgresLaneStore
from swap_settler.paying.store.lane_sweeps import PostgresLaneSweeps
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork
from swap_settler.paying.usecases.abandon_payouts import AbandonPayouts
from swap_settler.paying.usecases.buffer_sent_attempts import BufferSentAttempts
from swap_settler.paying.usecases.close_slots import CloseSlots
from swap_settler.paying.usecases.end_relays import EndRelays
from swap_settler.paying.usecases.fence_nonces import FenceNonces
from swap_settler.paying.usecases.mark_sent import MarkSent
from swap_settler.paying.usecases.rebroadcast import Rebroadcast
from swap_settler.paying.usecases.replace_stuck import ReplaceStuck
from swap_settler.paying.usecases.require_same_treasury import RequireSameTreasury
from swap_settler.paying.usecases.run_lane import RunLane
from swap_settler.paying.usecases.screen_payments import ScreenPayments
from swap_settler.paying.usecases.send_payouts import SendPayouts
from swap_settler.paying.usecases.send_sweeps import SendSweeps
from swap_settler.paying.usecases.snapshot_treasury import SnapshotTreasury
from swap_settler.paying.usecases.transaction_calls import TransactionCalls
from swap_settler.settings import SettlerGroup

NAME = "settler"
CONTRACTS_INTERVAL = timedelta(minutes=5)


class Lane:
    """The use cases of one lane, created each time this process acquires the lease."""

    def __init__(
        self,
        service: Service,
        group: SettlerGroup,
        chain: Chain,
        name: LaneName,
        *,
        swap_messages: SwapMessages,
        screening: Screening,
    ) -> None:
        self._group = group
        self._chain = chain
        self._name = name
        self._swap_messages = swap_messages
        self._screening = screening
        self._clock = service.clock
        retired = {checksum_address(signer) for signer in group.retired_signers}
        # A retired signer takes no new payments, and still signs for the nonces it has handed out.
        self._slots_max = 0 if name.signer in retired else group.payout_slots_max
        self._store = PostgresLaneStore(service.engine, name)
        self._sweeps = PostgresLaneSweeps(service.engine, name)
        self._fences = PostgresFences(service.engine, name)
        self._work = PostgresLaneUnitOfWork(service.engine, consumer=NAME, lane=name)
        self._calls = _calls(chain, name.signer)
        self._mark_sent = MarkSent(self._work, clock=self._clock, swap_messages=swap_messages)
        self._sent_attempts = BufferSentAttempts(self._mark_sent)
        self._abandon_payouts = AbandonPayouts(
            self._work,
            clock=self._clock,
            swap_messages=swap_messages,
            retries=Retries(
                group.payout_attempts_max, group.payout_retry_pause, group.payout_dwell
            ),
        )
        self._end_relays = EndRelays(
            self._work, chain=chain.reader, clock=self._clock, swap_messages=swap_messages
        )

    def running(self) -> RunLane:
        return RunLane(
            chain=self._chain.reader,
            signer=self._name.signer,
            store=self._store,
            send=self._send(),
            rebroadcast=self._rebroadcast(),
            replace=self._replace(),
            close_slots=self._close_slots(),
            fence=self._fence(),
            buffer_sent_attempts=self._sent_attempts,
            snapshot=self._snapshot(),
            check_chain=self._check,
            check_contracts=self._chain.check,
            poll_interval=self._group.lane_poll_interval,
            upkeep_interval=self._group.lane_upkeep_interval,
            contracts_interval=CONTRACTS_INTERVAL,
            sweep=self._sweep() if self._calls.factory is not None else None,
        )

    async def _check(self) -> None:
        """
        :raises ChainMismatch: or WrongChain, when signing here would be a mistake.
        """
        await self._chain.check()
        if self._name.network not in self._group.new_treasuries:
            require = RequireSameTreasury(
                chain=self._chain.reader,
                proofs=self._chain.proofs,
                store=self._store,
                treasury=self._calls.treasury,
            )
            await require()

    def _send(self) -> SendPayouts:
        network = self._chain.network
        screen = ScreenPayments(
            self._screening,
            network=network.name,
            store=self._store,
            abandon_payouts=self._abandon_payouts,
        )
        return SendPayouts(
            chain=self._chain.reader,
            sender=self._chain.sender,
            store=self._store,
            result_listener=self._sent_attempts,
            abandon_payouts=self._abandon_payouts,
            end_relays=self._end_relays,
            calls=self._calls,
            screen=screen,
            fee_cap=network.max_fee_per_gas,
            slots_max=self._slots_max,
            payments_max=self._group.payout_batch_max,
        )

    def _sweep(self) -> SendSweeps:
        return SendSweeps(
            chain=self._chain.reader,
            sender=self._chain.sender,
            store=self._store,
            sweeps=self._sweeps,
            result_listener=self._sent_attempts,
            calls=self._calls,
            fee_cap=self._chain.network.max_fee_per_gas,
            # Sweeps use at most half of the slots; the others are left to payments.
            in_flight_max=(self._slots_max + 1) // 2,
            sweeps_max=self._group.payout_batch_max,
        )

    def _rebroadcast(self) -> Rebroadcast:
        return Rebroadcast(
            sender=self._chain.sender,
            store=self._store,
            mark_sent=self._mark_sent,
            older_than=self._group.rebroadcast_after,
        )

    def _replace(self) -> ReplaceStuck:
        group, fee_cap = self._group, self._chain.network.max_fee_per_gas
        return ReplaceStuck(
            chain=self._chain.reader,
            sender=self._chain.sender,
            store=self._store,
            mark_sent=self._mark_sent,
            calls=self._calls,
            patience=Patience(group.replace_after, group.payout_dwell, fee_cap),
        )

    def _close_slots(self) -> CloseSlots:
        network = self._chain.network
        payment = network.max_fee_per_gas * network.gas.pay_erc20
        return CloseSlots(
            chain=self._chain.proofs,
            signer=self._name.signer,
            native=NATIVE,
            store=self._store,
            fences=self._fences,
            unit_of_work=self._work,
            abandon_payouts=self._abandon_payouts,
            end_relays=self._end_relays,
            calls=self._calls,
            clock=self._clock,
            swap_messages=self._swap_messages,
            gas_alarm=GasAlarm(payment, self._group.gas_payments_min),
        )

    def _fence(self) -> FenceNonces:
        return FenceNonces(
            self._fences,
            chain=self._chain.reader,
            proofs=self._chain.proofs,
            signer=self._name.signer,
            # Not _slots_max: a retired signer may have had so many in flight.
            slots_max=self._group.payout_slots_max,
        )

    def _snapshot(self) -> SnapshotTreasury:
        network = self._chain.network
        return SnapshotTreasury(
            chain=self._chain.proofs,
            treasury=network.contracts.treasury,
            tokens=[token.address for token in network.tokens],
            store=self._store,
            unit_of_work=self._work,
        )


def _calls(chain: Chain, signer: str) -> TransactionCalls:
    units, contracts = chain.network.gas, chain.network.contracts
    gas = GasUnits(units.pay_native, units.pay_erc20, units.sweep_native, units.sweep_erc20)
    addresses = contracts.deposit_addresses
    factory = None if addresses is None else addresses.factory
    return TransactionCalls(contracts.treasury, signer, NATIVE, gas, factory)
