from __future__ import annotations

from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import UnitOfWork
from swap_settler.settling.decide.refuels import overdue
from swap_settler.settling.ports import CompletionWork


class CompleteSwaps:
    """End the swaps with a final output and a refuel that was not sent in time."""

    def __init__(
        self,
        unit_of_work: UnitOfWork[CompletionWork],
        *,
        clock: Clock,
        swap_messages: SwapMessages,
        limit: int = 200,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._swap_messages = swap_messages
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        now = self._clock()
        async with self._unit_of_work() as work:
            due = await work.lock_overdue(now, limit=self._limit)
            if not due:
                return False
            batch_state = BatchState({swap.id: swap for swap in due}, {})
            in_doubt = await work.refuels_in_doubt([swap.id for swap in due])
            for swap in due:
                change = overdue(swap, at=now, may_be_paid=swap.id in in_doubt)
                batch_state.add(change, trace_id=trace_id_of(swap.id))
            await work.drop_completions_due([swap.id for swap in due])
            await self._swap_messages.flush(work, batch_state.changes, at=now)
        observe_changes.changes_committed(batch_state.changes)
        return len(due) == self._limit
