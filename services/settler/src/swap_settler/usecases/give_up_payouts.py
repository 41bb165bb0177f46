"""A payment that failed is tried again, or given up: then its swap says where the money is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from swap_runtime.clock import Clock
from swap_settler.domain.changes import Changes
from swap_settler.domain.lane import Retries
from swap_settler.domain.payouts import gave_up
from swap_settler.domain.swap import Swap
from swap_settler.lane_ports import LaneUnitOfWork, LaneWork
from swap_settler.usecases.announcing import Announcer
from swap_settler.usecases.folding import Folding


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
        self, intents: Mapping[UUID, UUID], *, refusals: Mapping[UUID, str], epoch: int
    ) -> None:
        """Postpone each unsent intent (id to swap id), or end it if it failed too often.

        :param refusals: what the Treasury said when each was tried.
        :raises LeaseLost: when another lane has taken over.
        """
        async with self._unit_of_work() as work:
            await work.require_epoch(epoch)
            swaps = await work.lock_swaps_by_id(set(intents.values()))
            failures = await work.failures_of_unsent(list(intents))
            because = {id: f"refused: {words}" for id, words in refusals.items()}
            changes = await self._count(work, swaps, intents, failures, because)
            await work.flush(changes, self._announcer.outgoing(changes, at=self._clock()))

    async def of_dead_slots(
        self, work: LaneWork, intents: Mapping[UUID, UUID]
    ) -> Sequence[Changes]:
        """Do so for what reverted, in the transaction that proves it; the caller flushes."""
        swaps = await work.lock_swaps_by_id(set(intents.values()))
        failures = await work.failures_of_dead(list(intents))
        because = dict.fromkeys(intents, "its last transaction reverted")
        return await self._count(work, swaps, intents, failures, because)

    async def _count(
        self,
        work: LaneWork,
        swaps: Mapping[UUID, Swap],
        intents: Mapping[UUID, UUID],
        before: Mapping[UUID, int],
        because: Mapping[UUID, str],
    ) -> Sequence[Changes]:
        failures = {i: n + 1 for i, n in before.items()}
        again = {
            i: n
            for i, n in failures.items()
            # What a reorg has taken back meanwhile is not paid for again.
            if not self._retries.is_over(n) and not _is_taken(swaps[intents[i]], i)
        }
        if again:
            pauses = {i: self._retries.pause_after(n) for i, n in again.items()}
            await work.postpone(again, pauses)
        folding = Folding(swaps, {})
        for i, n in failures.items():
            if i not in again:
                swap = folding.swaps[intents[i]]
                change = gave_up(swap, i, at=self._clock(), because=because[i], failures=n)
                folding.add(change, trace_id=swap.terms.trace_id)
        return folding.changes


def _is_taken(swap: Swap, intent_id: UUID) -> bool:
    intent = swap.intents.get(intent_id)
    return intent is not None and bool(swap.taken_from(intent.deposit_id))
