"""Retry a failed payment, or abandon it: then its money is refunded or claimable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final
from uuid import UUID

from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.change_cause import ChangeCause, cause_of_payment
from swap_settler.model.changes import Changes, Halt
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import Work
from swap_settler.model.swap import FailReason, Intent, Swap
from swap_settler.paying.decide.lane import Retries
from swap_settler.paying.decide.slots import Owners
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork, PostgresLaneWork
from swap_settler.settling.decide.payouts import (
    abandon_payment,
    abandon_standalone_intent,
    mark_sent,
    mark_standalone_sent,
)

REJECTED: Final = "its recipient must not be paid"
# The chain has a payment that the ledger has not: an operator reconciles it; never paid again.
PAID_EXTERNALLY: Final = "the chain has paid what the ledger has not"


class AbandonPayouts:
    """Count a failure against intents that no attempt can pay any more; retry or end each.

    Only for intents without a committed attempt, or with every slot proven dead.
    """

    def __init__(
        self,
        unit_of_work: PostgresLaneUnitOfWork,
        *,
        clock: Clock,
        swap_messages: SwapMessages,
        retries: Retries,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._swap_messages = swap_messages
        self._retries = retries

    async def __call__(
        self, intents: Owners, *, refusals: Mapping[UUID, str], epoch: int, is_final: bool = False
    ) -> None:
        """Postpone each unsent intent (id to swap id), or end it if it failed too often.

        :param refusals: the Treasury's answer to each simulation.
        :param is_final: whether they are ended at once.
        :raises LeaseLost: when another lane has taken over.
        """
        async with self._unit_of_work() as work:
            await work.require_epoch(epoch)
            owners = await lock_owners(work, intents)
            failures = await work.failures_of_unsent(list(intents))
            because = {id: f"refused: {text}" for id, text in refusals.items()}
            if is_final:
                batch_state = _batch_state(owners)
                for i, n in failures.items():
                    self._end(batch_state, owners[i], i, because[i], n)
                changes: Sequence[Changes] = batch_state.changes
            else:
                changes = await self._count(work, owners, failures, because)
            await self._swap_messages.flush(work, changes, at=self._clock())
        observe_changes.changes_committed(changes)

    async def reject(self, intents: Owners, *, epoch: int) -> None:
        """End unsent intents with recipients that must not be paid.

        :raises LeaseLost: when another lane has taken over.
        """
        async with self._unit_of_work() as work:
            await work.require_epoch(epoch)
            owners = await lock_owners(work, intents)
            unsent = await work.failures_of_unsigned(list(intents))
            batch_state = _batch_state(owners)
            for i, failures in unsent.items():
                reason = FailReason.REJECTED_BY_POLICY
                self._end(batch_state, owners[i], i, REJECTED, failures, fails_for=reason)
            changes = batch_state.changes
            await self._swap_messages.flush(work, changes, at=self._clock())
        observe_changes.changes_committed(changes)

    async def of_dead_slots(
        self,
        work: PostgresLaneWork,
        intents: Owners,
        owners: Mapping[UUID, Swap | Intent],
        *,
        externally_paid: Collection[UUID],
        failed_nonces: Collection[int] = (),
    ) -> Sequence[Changes]:
        """Count a failure against payments on dead slots, in the transaction that proves them dead.

        The caller flushes.


        :param owners: of the intents, locked.
        :param externally_paid: made by another transaction: neither retried nor abandoned.
        :param failed_nonces: the nonces of transactions that failed in a block.
        """
        failures = dict(await work.failures_of_dead(list(intents)))
        because = dict.fromkeys(intents, "no transaction of its slot paid it")
        left = [i for i in externally_paid if failures.pop(i, None) is not None]
        reverts = (
            await work.count_reverts(failed_nonces, besides=externally_paid)
            if failed_nonces
            else {}
        )
        return await self._count(work, owners, failures, because, left, reverts=reverts)

    async def _count(
        self,
        work: PostgresLaneWork,
        owners: Mapping[UUID, Swap | Intent],
        before: Mapping[UUID, int],
        because: Mapping[UUID, str],
        left: Sequence[UUID] = (),
        *,
        reverts: Mapping[UUID, int] = MappingProxyType({}),
    ) -> Sequence[Changes]:
        failures = {i: n + 1 for i, n in before.items()}
        again = {
            i: n
            for i, n in failures.items()
            # A deposit that a reorg has removed meanwhile is not paid for again.
            if not self._is_over(owners[i], i, n, reverts.get(i, 0))
            and not _is_paid_externally(owners[i], i)
        }
        if again:
            pauses = {i: self._retries.pause_after(n) for i, n in again.items()}
            await work.postpone(again, pauses)
        batch_state = _batch_state(owners)
        for i, n in failures.items():
            if i not in again:
                self._end(batch_state, owners[i], i, because[i], n)
        for i in left:
            leave_for_operators(batch_state, owners[i], i, at=self._clock())
        if left:
            # One reason: of several for a network only the first is kept.
            ids = ", ".join(map(str, left))
            network = _intent(owners[left[0]], left[0]).network
            halt = Halt(network, f"{PAID_EXTERNALLY}: intent {ids}", is_evidence=True)
            batch_state.add(Changes(halt=halt), trace_id=str(left[0]))
        return batch_state.changes

    def _end(
        self,
        batch_state: BatchState,
        owner: Swap | Intent,
        intent_id: UUID,
        because: str,
        failures: int,
        *,
        fails_for: FailReason | None = None,
    ) -> None:
        if isinstance(owner, Intent):
            change = abandon_standalone_intent(owner, because=because, failures=failures)
            batch_state.add(change, trace_id=str(owner.id))
            return
        swap = batch_state.swaps[owner.id]
        change = abandon_payment(
            swap,
            intent_id,
            at=self._clock(),
            because=because,
            failures=failures,
            fails_for=fails_for,
        )
        batch_state.add(change, trace_id=trace_id_of(swap.id))

    def _is_over(self, owner: Swap | Intent, intent_id: UUID, failures: int, reverts: int) -> bool:
        intent = owner if isinstance(owner, Intent) else owner.intents.get(intent_id)
        since = None if intent is None else intent.slot_at
        in_slot_for = timedelta(0) if since is None else self._clock() - since
        return self._retries.is_over(failures, reverts=reverts, in_slot_for=in_slot_for)


def _batch_state(owners: Mapping[UUID, Swap | Intent]) -> BatchState:
    return BatchState({o.id: o for o in owners.values() if isinstance(o, Swap)}, {})


def leave_for_operators(
    batch_state: BatchState,
    owner: Swap | Intent,
    intent_id: UUID,
    *,
    at: datetime,
    cause: ChangeCause | None = None,
) -> None:
    """Mark a payment of an external transaction as sent: it is not abandoned for waiting.

    :param cause: an operator's order; None: it was found on the chain.
    """
    if isinstance(owner, Intent):
        batch_state.add(mark_standalone_sent(owner, at=at), trace_id=str(owner.id))
        return
    swap = batch_state.swaps[owner.id]
    # The service has not sent it: a final block has it.
    why = cause or cause_of_payment(swap.intents[intent_id].kind, "mined")
    change = mark_sent(swap, intent_id, at=at).with_cause(why)
    batch_state.add(change, trace_id=trace_id_of(swap.id))


async def lock_owners(work: Work, intents: Owners) -> Mapping[UUID, Swap | Intent]:
    """Return, for each intent, its swap, or itself if it is no swap's."""
    swaps = await work.lock_swaps_by_id({swap for swap in intents.values() if swap})
    standalone_intents = await work.lock_standalone_intents(
        {intent for intent, swap in intents.items() if swap is None}
    )
    of_swaps = {intent: swaps[swap] for intent, swap in intents.items() if swap}
    return {**of_swaps, **standalone_intents}


def _intent(owner: Swap | Intent, intent_id: UUID) -> Intent:
    return owner if isinstance(owner, Intent) else owner.intents[intent_id]


def _is_paid_externally(owner: Swap | Intent, intent_id: UUID) -> bool:
    if isinstance(owner, Intent):
        return False
    intent = owner.intents.get(intent_id)
    return intent is not None and bool(owner.reorged_out_of(intent.deposit_id))
