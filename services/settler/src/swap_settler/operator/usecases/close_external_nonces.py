"""Closes nonces consumed by external transactions and reassigns their payments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_chains.errors import ChainError
from swap_chains.ports import ChainReader
from swap_contracts.tracing import trace_id_of
from swap_domain.authorization_status import AuthorizationTrigger
from swap_domain.catalogue import NATIVE
from swap_runtime.clock import Clock
from swap_runtime.crashpoint import crashpoint
from swap_runtime.errors import RequestRefused, Unavailable
from swap_settler.gasless.decide.relaying import end_relay
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.ledger.accounts import LedgerTransaction
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import Intent, IntentKind, Swap
from swap_settler.operator import observe
from swap_settler.operator.decide.signer import Signer
from swap_settler.operator.store.external_nonces import (
    PostgresExternalNonces,
    PostgresExternalNonceUnitOfWork,
    PostgresExternalNonceWork,
)
from swap_settler.operator.usecases.prove_external_transactions import (
    ExternalNonce,
    ProveExternalTransactions,
    ProvenNonces,
)
from swap_settler.paying.usecases.abandon_payouts import leave_for_operators, lock_owners
from swap_settler.settling.decide.payouts import abandon_payment

REASON: Final = "its nonce was used by a transaction that was not signed here"
CAUSE: Final = ChangeCause.PAYMENT_RECONCILED
CHANGED: Final = "the signer changed meanwhile: look at it again"


class CloseExternalNonces:
    """An operator names the transactions; the chain has to prove each.

    A payment is free then to be tried on another nonce, once: its id at the Treasury is the same.
    One that the Treasury has paid already stays unchanged, for an operator. Only for a signer that
    is halted, so that nothing is signed meanwhile, and in one transaction.
    """

    def __init__(
        self,
        nonces: PostgresExternalNonces,
        unit_of_work: PostgresExternalNonceUnitOfWork,
        *,
        prove: ProveExternalTransactions,
        chains: Mapping[str, ChainReader],
        clock: Clock,
        swap_messages: SwapMessages,
    ) -> None:
        self._nonces = nonces
        self._unit_of_work = unit_of_work
        self._prove = prove
        self._chains = chains
        self._clock = clock
        self._swap_messages = swap_messages

    async def __call__(
        self, halted: Sequence[Signer], hashes: Sequence[str], *, by: str, reason: str
    ) -> Sequence[int]:
        """Return the ids of payments that were made already, by what was not signed here.

        :param halted: signers of one network.
        :raises RequestRefused: when the chain does not prove it, or the signer changed meanwhile.
        :raises Unavailable: when no node answers.
        """
        paid: set[int] = set()
        chain = self._chains.get(halted[0].network)
        if chain is None:
            raise RequestRefused(f"{halted[0].network} is not a network of the catalogue")
        if await self._nonces.is_network_halted(halted[0].network):
            raise RequestRefused(
                f"what is final on {halted[0].network} is in doubt: see swapctl network"
            )
        try:
            of = {h: t.from_address for h, t in (await chain.transactions(hashes)).items()}
            addresses = {signer.address for signer in halted}
            if unrelated := [h for h in hashes if of.get(h) not in addresses]:
                raise RequestRefused(f"of no halted signer of the network: {', '.join(unrelated)}")
            for signer in halted:
                if theirs := [h for h in hashes if of[h] == signer.address]:
                    proven = await self._prove(chain, signer, theirs)
                    await self._close(signer, proven, by=by, reason=reason)
                    paid |= proven.paid
        except ChainError as error:
            raise Unavailable(str(error)) from error
        return sorted(paid)

    async def _close(self, signer: Signer, proven: ProvenNonces, *, by: str, reason: str) -> None:
        external = [*proven.assigned, *proven.unassigned]
        if not external:
            return
        lost = await self._book_losses(signer, external)
        slots = [one.slot for one in proven.assigned]
        async with self._unit_of_work(signer) as work:
            intents = await work.intents_on([slot.nonce for slot in slots])
            owners = await lock_owners(work, intents)
            failures = await work.failures_of_dead(list(owners))
            if not await work.lock_open([slot.nonce for slot in slots]):
                raise RequestRefused(CHANGED)
            if slots:  # a restored ledger may have handed out none of them
                await work.close_slots(slots, proven.final)
            changes = await self._free_payments(work, owners, failures, proven.paid)
            changes += [Changes(ledger=tuple(lost))] if lost else []
            await work.flush(changes, self._swap_messages.outgoing(changes, at=self._clock()))
            # The signer last, in the lock order of nonce allocation.
            if not await work.lock_halted(signer):
                raise RequestRefused(CHANGED)
            if proven.unassigned:
                unassigned = [one.slot for one in proven.unassigned]
                await work.skip_nonces(signer, [slot.nonce for slot in unassigned])
                await work.close_slots(unassigned, proven.final)
            named = {
                one.slot.nonce: (one.slot.transaction_hash, one.lost_base_units) for one in external
            }
            await work.add_external_transactions(named, by=by, reason=reason)
        crashpoint("settler.after_external_nonce")
        observe_changes.changes_committed(changes)
        for nonce, (transaction_hash, units) in named.items():
            network, address = signer.network, signer.address
            observe.external_nonce(
                network, address, nonce, transaction_hash, units, by=by, reason=reason
            )
        for paid_id in sorted(proven.paid):
            observe.paid_externally(signer.network, signer.address, paid_id)

    async def _book_losses(
        self, signer: Signer, external: Sequence[ExternalNonce]
    ) -> Sequence[LedgerTransaction]:
        booked, entries = await self._nonces.balance(signer, NATIVE), []
        for one in external:
            if one.lost_base_units:
                entry = ledger.book_external_spending(
                    network=signer.network,
                    signer=signer.address,
                    native=NATIVE,
                    nonce=one.slot.nonce,
                    base_units=one.lost_base_units,
                    booked=booked,
                    block_number=one.slot.receipt.block.number,
                )
                entries.append(entry)
                booked -= min(one.lost_base_units, booked)
        return entries

    async def _free_payments(
        self,
        work: PostgresExternalNonceWork,
        owners: Mapping[UUID, Swap | Intent],
        failures: Mapping[UUID, int],
        paid: frozenset[int],
    ) -> list[Changes]:
        """Let each wait for another nonce; end payments that a reorg made void or that need a new
        signature.

        A paid one was sent, by any sender: no timeout may abandon it.
        """
        gone = {i for i in failures if _is_paid(owners[i], i, paid)}
        over = {i for i in failures if _is_over(owners[i], i)} - gone
        free = {i: failed for i, failed in failures.items() if i not in over | gone}
        if free:
            await work.postpone(free, dict.fromkeys(free, timedelta(0)))
        batch_state = BatchState({o.id: o for o in owners.values() if isinstance(o, Swap)}, {})
        for i in over:
            swap = batch_state.swaps[owners[i].id]
            batch_state.add(self._end(swap, i, failures[i]), trace_id=trace_id_of(swap.id))
        for i in gone:
            leave_for_operators(batch_state, owners[i], i, at=self._clock(), cause=CAUSE)
        return batch_state.changes

    def _end(self, swap: Swap, intent_id: UUID, failures: int) -> Changes:
        now = self._clock()
        if swap.intents[intent_id].kind is IntentKind.GASLESS:
            # It was valid when it arrived: the user may sign again.
            trigger = AuthorizationTrigger.WINDOW_CLOSED
            change = end_relay(swap, intent_id, trigger, at=now, because=REASON)
        else:
            change = abandon_payment(swap, intent_id, at=now, because=REASON, failures=failures)
        return change.with_cause(CAUSE)


def _is_paid(owner: Swap | Intent, intent_id: UUID, paid: frozenset[int]) -> bool:
    intent = owner if isinstance(owner, Intent) else owner.intents[intent_id]
    return intent.paid_id in paid


def _is_over(owner: Swap | Intent, intent_id: UUID) -> bool:
    if isinstance(owner, Intent):
        return False
    intent = owner.intents[intent_id]
    return intent.kind is IntentKind.GASLESS or bool(owner.reorged_out_of(intent.deposit_id))
