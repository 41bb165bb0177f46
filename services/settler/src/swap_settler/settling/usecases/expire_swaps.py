from __future__ import annotations

from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import UnitOfWork
from swap_settler.settling.decide.expiry import decide
from swap_settler.settling.ports import ExpiryWork


class ExpireSwaps:
    """End the swaps with a deadline that has passed, on the service's clock and on their source
    network.
    """

    def __init__(
        self,
        unit_of_work: UnitOfWork[ExpiryWork],
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
            due = await work.lock_expiring(now, limit=self._limit)
            batch_state = BatchState({swap.id: swap for swap in due}, {})
            for swap in due:
                batch_state.add(decide(swap, at=now), trace_id=trace_id_of(swap.id))
            await self._swap_messages.flush(work, batch_state.changes, at=now)
        observe_changes.changes_committed(batch_state.changes)
        return len(batch_state.changes) == self._limit
