from __future__ import annotations

from swap_contracts.tracing import trace_id_of
from swap_domain.authorization_status import AuthorizationTrigger
from swap_runtime.clock import Clock
from swap_settler.gasless.decide.relaying import end_relay
from swap_settler.gasless.ports import LapsedWork
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import UnitOfWork


class ExpireAuthorizations:
    """End the signatures that nothing was signed for in time: they deposit nothing any more."""

    def __init__(
        self,
        unit_of_work: UnitOfWork[LapsedWork],
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
            ids = await work.swaps_with_lapsed(now, limit=self._limit)
            swaps = await work.lock_swaps_by_id(ids)
            batch_state = BatchState(swaps, {})
            for swap in swaps.values():
                relay = swap.relay
                if relay is not None and relay.is_revocable:
                    change = end_relay(
                        swap,
                        relay.id,
                        AuthorizationTrigger.WINDOW_CLOSED,
                        at=now,
                        because="its window closed before it was sent",
                    )
                    batch_state.add(change, trace_id=trace_id_of(swap.id))
            await work.flush(
                batch_state.changes, self._swap_messages.outgoing(batch_state.changes, at=now)
            )
        observe_changes.changes_committed(batch_state.changes)
        return len(ids) == self._limit
