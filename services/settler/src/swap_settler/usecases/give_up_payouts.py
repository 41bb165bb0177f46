"""A payment that failed is tried again, or given up: then its swap says where the money is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final
from uuid import UUID

from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_settler import observe
from swap_settler.domain.changes import Changes, Halt
from swap_settler.domain.lane import Retries
from swap_settler.domain.payouts import gave_up, lone_gave_up, lone_sent, sent
from swap_settler.domain.swap import FailReason, Intent, Swap
from swap_settler.lane_ports import LaneUnitOfWork, LaneWork, Owners
from swap_settler.ports import Work
from swap_settler.usecases.announcing import Announcer
from swap_settler.usecases.folding import Folding

REJECTED: Final = "its recipient must not be paid"
# The chain knows a payment that the ledger does not: for a person, never paid again.
PAID_ELSEWHERE: Final = "the chain has paid what the ledger has not"


class GiveUpPayouts:
    """Count a failure against intents that no attempt can pay any more.

    Only for intents without a committed attempt, or whose every slot is proven dead.
    """

    def __init__(
        self,
        unit_of_work: LaneUnitOfWork,
        *,
        clock: Clock,
        announcer: Announcer,
        retries: Retries,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._announcer = announcer
        self._retries = retries

    async def __call__(
        self, intents: Owners, *, refusals: Mapping[UUID, str], epoch: int, is_final: bool = False
    ) -> None:
        """Postpone each unsent intent (id to swap id), or end it if it failed too often.

        :param refusals: what the Treasury said when each was tried.
        :param is_final: whether they are ended at once.
        :raises LeaseLost: when another lane has taken over.
        """
        async with self._unit_of_work() as work:
            await work.require_epoch(epoch)
            owners = await lock_owners(work, intents)
            failures = await work.failures_of_unsent(list(intents))
            because = {id: f"refused: {words}" for id, words in refusals.items()}
            if is_final:
                folding = _folding(owners)
                for i, n in failures.items():
                    self._end(folding, owners[i], i, because[i], n)
                changes: Sequence[Changes] = folding.changes
            else:
                changes = await self._count(work, owners, failures, because)
            await work.flush(changes, self._announcer.outgoing(changes, at=self._clock()))
        observe.changed(changes)

    async def reject(self, intents: Owners, *, epoch: int) -> None:
        """End unsent intents whose recipients must not be paid.

        :raises LeaseLost: when another lane has taken over.
        """
        async with self._unit_of_work() as work:
            await work.require_epoch(epoch)
            owners = await lock_owners(work, intents)
            unsent = await work.failures_of_unsigned(list(intents))
            folding = _folding(owners)
            for i, failures in unsent.items():
                reason = FailReason.REJECTED_BY_POLICY
                self._end(folding, owners[i], i, REJECTED, failures, fails_for=reason)
            changes = folding.changes
            await work.flush(changes, self._announcer.outgoing(changes, at=self._clock()))
        observe.changed(changes)

    async def of_dead_slots(
        self,
        work: LaneWork,
        intents: Owners,
        owners: Mapping[UUID, Swap | Intent],
        *,
        elsewhere: Collection[UUID],
        reverted: Collection[int] = (),
    ) -> Sequence[Changes]:
        """Do so for what reverted, in the transaction that proves it; the caller flushes.

        :param owners: of the intents, locked.
        :param elsewhere: what the Treasury has paid all the same: it has left, whoever sent it,
            and is neither tried again nor given up, by anybody.
        :param reverted: the nonces whose transactions failed in a block.
        """
        failures = dict(await work.failures_of_dead(list(intents)))
        because = dict.fromkeys(intents, "no transaction of its slot paid it")
        left = [i for i in elsewhere if failures.pop(i, None) is not None]
        reverts = await work.count_reverts(reverted, besides=elsewhere) if reverted else {}
        return await self._count(work, owners, failures, because, left, reverts=reverts)

    async def _count(
        self,
        work: LaneWork,
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
            # What a reorg has taken back meanwhile is not paid for again.
            if not self._is_over(owners[i], i, n, reverts.get(i, 0)) and not _is_taken(owners[i], i)
        }
        if again:
            pauses = {i: self._retries.pause_after(n) for i, n in again.items()}
            await work.postpone(again, pauses)
        folding = _folding(owners)
        for i, n in failures.items():
            if i not in again:
                self._end(folding, owners[i], i, because[i], n)
        for i in left:
            leave(folding, owners[i], i, at=self._clock())
        if left:
            # One reason: of several for a network only the first is kept.
            ids = ", ".join(map(str, left))
            network = _intent(owners[left[0]], left[0]).network
            halt = Halt(network, f"{PAID_ELSEWHERE}: intent {ids}", is_evidence=True)
            folding.add(Changes(halt=halt), trace_id=str(left[0]))
        return folding.changes

    def _end(
        self,
        folding: Folding,
        owner: Swap | Intent,
        intent_id: UUID,
        because: str,
        failures: int,
        *,
        fails_for: FailReason | None = None,
    ) -> None:
        if isinstance(owner, Intent):
            change = lone_gave_up(owner, because=because, failures=failures)
            folding.add(change, trace_id=str(owner.id))
            return
        swap = folding.swaps[owner.id]
        change = gave_up(
            swap,
            intent_id,
            at=self._clock(),
            because=because,
            failures=failures,
            fails_for=fails_for,
        )
        folding.add(change, trace_id=trace_id_of(swap.id))

    def _is_over(self, owner: Swap | Intent, intent_id: UUID, failures: int, reverts: int) -> bool:
        intent = owner if isinstance(owner, Intent) else owner.intents.get(intent_id)
        since = None if intent is None else intent.slot_at
        in_slot_for = timedelta(0) if since is None else self._clock() - since
        return self._retries.is_over(failures, reverts=reverts, in_slot_for=in_slot_for)


def _folding(owners: Mapping[UUID, Swap | Intent]) -> Folding:
    return Folding({o.id: o for o in owners.values() if isinstance(o, Swap)}, {})


def leave(folding: Folding, owner: Swap | Intent, intent_id: UUID, *, at: datetime) -> None:
    """Keep that a payment has left, whoever sent it: nothing gives it up for having waited."""
    if isinstance(owner, Intent):
        folding.add(lone_sent(owner, at=at), trace_id=str(owner.id))
        return
    swap = folding.swaps[owner.id]
    folding.add(sent(swap, intent_id, at=at), trace_id=trace_id_of(swap.id))


async def lock_owners(work: Work, intents: Owners) -> Mapping[UUID, Swap | Intent]:
    """Return, for each intent, its swap, or itself if it is no swap's."""
    swaps = await work.lock_swaps_by_id({swap for swap in intents.values() if swap})
    alone = await work.lock_lone({intent for intent, swap in intents.items() if swap is None})
    of_swaps = {intent: swaps[swap] for intent, swap in intents.items() if swap}
    return {**of_swaps, **alone}


def _intent(owner: Swap | Intent, intent_id: UUID) -> Intent:
    return owner if isinstance(owner, Intent) else owner.intents[intent_id]


def _is_taken(owner: Swap | Intent, intent_id: UUID) -> bool:
    if isinstance(owner, Intent):
        return False
    intent = owner.intents.get(intent_id)
    return intent is not None and bool(owner.taken_from(intent.deposit_id))
