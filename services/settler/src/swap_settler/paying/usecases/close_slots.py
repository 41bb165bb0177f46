"""Nonces that the finalized chain has consumed: book their gas, prove failed attempts dead.

A transaction that failed in a block ends here: `abandon_payouts.py` retries its payments or ends
them. No message reports it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from swap_chains.events import Block
from swap_chains.ports import ChainReader, Holding, Receipt
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable
from swap_settler.model import observe_changes
from swap_settler.model.changes import Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.paying import observe
from swap_settler.paying.decide.lane import GasAlarm, Payment
from swap_settler.paying.decide.receipt_quorum import count_votes
from swap_settler.paying.decide.slots import ClosedSlot, OpenAttempt, Snapshot
from swap_settler.paying.store.fences import PostgresFences
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork, PostgresLaneWork
from swap_settler.paying.usecases.abandon_payouts import AbandonPayouts, lock_owners
from swap_settler.paying.usecases.end_relays import EndRelays
from swap_settler.paying.usecases.spent_ids import find_spent_ids
from swap_settler.paying.usecases.transaction_calls import TransactionCalls

ROUNDS_UNEXPLAINED_MAX: Final = 10  # final blocks in a row


class CloseSlots:
    """Account for one signer at a finalized block.

    A failed transaction there, with no node reporting otherwise, proves the slot's attempts dead.
    Its payments may be retried on another slot, or abandoned. A rise of the signer's balance that
    no transaction explains is its owner's top-up. Where a recovery finds less than the ledger,
    transactions that the restored ledger has forgotten spent it. While the network is halted, its
    finality is unknown, and the round is skipped.
    """

    def __init__(
        self,
        *,
        chain: ChainReader,
        signer: str,
        native: str,
        store: PostgresLaneStore,
        fences: PostgresFences,
        unit_of_work: PostgresLaneUnitOfWork,
        abandon_payouts: AbandonPayouts,
        end_relays: EndRelays,
        calls: TransactionCalls,
        clock: Clock,
        swap_messages: SwapMessages,
        gas_alarm: GasAlarm,
    ) -> None:
        self._chain = chain
        self._signer = signer
        self._native = native
        self._store = store
        self._fences = fences
        self._unit_of_work = unit_of_work
        self._abandon_payouts = abandon_payouts
        self._end_relays = end_relays
        self._calls = calls
        self._clock = clock
        self._swap_messages = swap_messages
        self._gas_alarm = gas_alarm
        self._last_number = -1
        self._rounds_unexplained = 0

    async def __call__(self, *, epoch: int) -> None:
        """
        :raises ChainError: when no node gives a usable answer.
        :raises LeaseLost: when another lane has taken over: it may have retried a payment.
        """
        final = await self._chain.final_block()
        if final.number == self._last_number or await self._store.is_network_halted():
            return
        nonce = await self._chain.nonce(self._signer, at=final)
        signed = await self._store.signed_for(below=nonce)
        receipts = await self._receipts(signed)
        closed = await self._with_receipt_quorum(_closed_slots(signed, receipts, final), signed)
        missing = {item.nonce for item in signed} - {slot.nonce for slot in closed}
        forgotten = await self._fences.find_fenced(missing) if missing else frozenset()
        if missing - forgotten:
            await self._track_unexplained_nonces(sorted(missing - forgotten))
        else:
            self._rounds_unexplained = 0
        is_complete = not missing - forgotten
        await self._account(final, closed, forgotten, is_complete=is_complete, epoch=epoch)
        self._last_number = final.number

    async def _track_unexplained_nonces(self, nonces: Sequence[int]) -> None:
        """Halt the signer when consumed nonces stay unexplained.

        Each needs exactly one receipt of an attempt, with a receipt quorum where it paid nothing.
        Nodes lag or lie, or the key is used by another program.
        """
        observe.slots_unexplained(self._chain.network, self._signer, nonces)
        self._rounds_unexplained += 1
        # Also a signer that an operator has resumed meanwhile: the nonce is still unexplained.
        if self._rounds_unexplained >= ROUNDS_UNEXPLAINED_MAX:
            cause = "were used by no transaction of ours, by the answers of all nodes"
            await self._store.halt_for(nonces, f"nonces {list(nonces)} {cause}")

    async def _receipts(self, signed: Sequence[OpenAttempt]) -> Mapping[str, Receipt]:
        if not signed:
            return {}
        return await self._chain.receipts([item.transaction_hash for item in signed])

    async def _with_receipt_quorum(
        self, closed: Sequence[ClosedSlot], signed: Sequence[OpenAttempt]
    ) -> Sequence[ClosedSlot]:
        """Leave out slots without a receipt quorum: one node's report does not free a payment.

        A node that has another transaction of the slot in a block contradicts as well.
        """
        unpaid = [slot for slot in closed if slot.paid_nothing]
        if not unpaid:
            return closed
        rivals = {slot.nonce: _rivals(slot, signed) for slot in unpaid}
        hashes = {h for others in rivals.values() for h in others}
        node_receipts = await self._chain.receipts_of_each_node(
            [*(slot.transaction_hash for slot in unpaid), *hashes]
        )
        proven_slots = [slot for slot in closed if not slot.paid_nothing]
        for slot in unpaid:
            quorum = count_votes(
                node_receipts[slot.transaction_hash],
                block_hash=slot.receipt.block.hash,
                succeeded=slot.receipt.succeeded,
                rivals=[r for rival in rivals[slot.nonce] for r in node_receipts[rival]],
            )
            if quorum.is_proven:
                proven_slots.append(replace(slot, quorum=quorum))
            elif quorum.deny:
                agree, deny = quorum.agree, quorum.deny
                observe.nodes_differ(
                    self._chain.network, slot.transaction_hash, agree=agree, deny=deny
                )
        return proven_slots

    async def _account(
        self,
        final: Block,
        closed: Sequence[ClosedSlot],
        forgotten: frozenset[int],
        *,
        is_complete: bool,
        epoch: int,
    ) -> None:
        held = Holding(self._signer, self._native)
        balance = (await self._chain.balances([held], at=final))[held]
        booked = await self._store.signer_balance(self._native)
        observe.signer_gas(self._chain.network, self._signer, balance, self._gas_alarm)
        spent = sum(slot.receipt.fee_base_units for slot in closed)
        # An unexplained nonce spent an unknown amount, so no rise can be computed.
        rise = balance + spent - booked if is_complete else 0
        lost = -rise if rise < 0 and await self._is_forgotten(forgotten) else 0
        if rise < 0 and not lost:
            observe.signer_short(self._chain.network, self._signer, -rise)
        if not closed and not forgotten and not lost and rise <= 0:
            return
        relays = await self._relays(closed)
        short = await self._end_relays.short([relay for relay, done in relays.items() if not done])
        unpaid = [slot.nonce for slot in closed if slot.paid_nothing]
        externally_paid = await self._spent_on_chain(unpaid, final) if unpaid else frozenset()
        async with self._unit_of_work() as work:
            await work.require_epoch(epoch)
            failed_nonces = [slot.nonce for slot in closed if slot.has_reverted]
            ends = await self._ends(
                work, unpaid, relays, short, externally_paid, failed_nonces=failed_nonces
            )
            changes = [*ends, *self._book_slots(final, closed, rise, lost)]
            if closed:
                await work.close_slots(closed, final)
            if forgotten:
                await work.close_forgotten(forgotten, final)
            await self._swap_messages.flush(work, changes, at=self._clock())
            if is_complete:
                await work.add_snapshots([Snapshot(self._signer, self._native, balance)], final)
        observe_changes.changes_committed(changes)

    async def _is_forgotten(self, forgotten: frozenset[int]) -> bool:
        """Whether transactions that a restored ledger has forgotten may explain it."""
        return bool(forgotten) or await self._fences.is_recovering()

    async def _relays(self, closed: Sequence[ClosedSlot]) -> Mapping[Payment, bool]:
        """Return the gasless deposits that were consumed, and whether each did what it is for."""
        done = {slot.nonce: slot.receipt.succeeded and not slot.is_cancel for slot in closed}
        found = await self._store.relays_on(list(done)) if done else {}
        return {relay: done[nonce] for relay, nonce in found.items()}

    async def _spent_on_chain(self, nonces: Sequence[int], final: Block) -> frozenset[UUID]:
        """Return the payments on these slots that the Treasury made by other transactions.

        :raises Unavailable: when no node answers, and until such a payment is final, or gone.
        """
        payments = [p for p in await self._store.payments_on(nonces) if p.paid_id]
        if not payments:
            return frozenset()
        newest = await self._find_paid(payments, at=None)
        paid = await self._find_paid(payments, at=final)
        if young := newest - paid:
            raise Unavailable(f"paid by others in a block that is not final: {len(young)}")
        return paid

    async def _find_paid(self, payments: Sequence[Payment], *, at: Block | None) -> frozenset[UUID]:
        ids = [payment.paid_id for payment in payments]
        spent = await find_spent_ids(self._chain, self._calls.treasury, ids, at=at)
        return frozenset(p.intent_id for p in payments if p.paid_id in spent)

    async def _ends(
        self,
        work: PostgresLaneWork,
        unpaid: Sequence[int],
        relays: Mapping[Payment, bool],
        short: frozenset[UUID],
        externally_paid: frozenset[UUID],
        *,
        failed_nonces: Sequence[int],
    ) -> Sequence[Changes]:
        """Return the changes of payments on dead slots and of gasless deposits that ended."""
        intents = dict(await work.intents_on(unpaid)) if unpaid else {}
        intents |= {relay.intent_id: relay.swap_id for relay in relays}
        if not intents:
            return ()
        owners = await lock_owners(work, intents)
        for relay in relays:
            del intents[relay.intent_id]
        dead = (
            await self._abandon_payouts.of_dead_slots(
                work, intents, owners, externally_paid=externally_paid, failed_nonces=failed_nonces
            )
            if intents
            else ()
        )
        return [*dead, *self._end_relays.of_closed_slots(owners, relays, short)]

    def _book_slots(
        self, final: Block, closed: Sequence[ClosedSlot], rise: int, lost: int
    ) -> Sequence[Changes]:
        signer = {
            "network": self._chain.network,
            "signer": self._signer,
            "native": self._native,
        }
        entries = [
            ledger.gas_spent(
                **signer,
                nonce=slot.nonce,
                base_units=slot.receipt.fee_base_units,
                block_number=slot.receipt.block.number,
            )
            for slot in closed
            if slot.receipt.fee_base_units
        ]
        if rise > 0:
            entries.append(
                ledger.signer_topped_up(**signer, base_units=rise, block_number=final.number)
            )
        if lost:
            entries.append(
                ledger.forgotten_spent(**signer, base_units=lost, block_number=final.number)
            )
        return [Changes(ledger=tuple(entries))] if entries else []


def _closed_slots(
    signed: Sequence[OpenAttempt], receipts: Mapping[str, Receipt], final: Block
) -> Sequence[ClosedSlot]:
    found = [
        ClosedSlot(item.nonce, item.transaction_hash, item.is_cancel, receipt)
        for item in signed
        if (receipt := receipts.get(item.transaction_hash)) is not None
        and receipt.block.number <= final.number
    ]
    # A nonce is used once: where two receipts claim it, neither counts.
    times = Counter(slot.nonce for slot in found)
    return [slot for slot in found if times[slot.nonce] == 1]


def _rivals(slot: ClosedSlot, signed: Sequence[OpenAttempt]) -> Sequence[str]:
    """Return the other transactions that were signed for a slot."""
    hashes = [item.transaction_hash for item in signed if item.nonce == slot.nonce]
    return [h for h in hashes if h != slot.transaction_hash]
