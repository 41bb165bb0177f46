from __future__ import annotations

from datetime import timedelta

from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import UnitOfWork, Work
from swap_settler.settling.decide.dwelling import abandon_waiting_payout
from swap_settler.settling.store.dwelling import PostgresDwelling


class AbandonWaitingPayouts:
    """Abandon payments that wait too long for their signature.

    Where the destination makes no blocks, the money is refunded; where the source makes none, it is
    claimable. Signed payments are left to their lane. Those of a halted signer are left to an
    operator: the chain may have paid what a restored ledger has forgotten.
    """

    def __init__(
        self,
        unit_of_work: UnitOfWork[Work],
        *,
        dwelling: PostgresDwelling,
        clock: Clock,
        swap_messages: SwapMessages,
        dwell: timedelta,
        limit: int = 200,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._dwelling = dwelling
        self._clock = clock
        self._swap_messages = swap_messages
        self._dwell = dwell
        self._limit = limit
        self._is_first_round = True

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more.

        The first round does nothing: meanwhile the lanes compare the ledger with their chains, and
        halt where it was restored.
        """
        if self._is_first_round:
            self._is_first_round = False
            return False
        waiting = await self._dwelling.find_unsent(self._dwell, limit=self._limit)
        if not waiting:
            return False
        now = self._clock()
        async with self._unit_of_work() as work:
            swaps = await work.lock_swaps_by_id(set(waiting.values()))
            batch_state = BatchState(swaps, {})
            for intent_id, swap_id in waiting.items():
                swap = batch_state.swaps[swap_id]
                change = abandon_waiting_payout(swap, intent_id, at=now)
                batch_state.add(change, trace_id=trace_id_of(swap.id))
            await self._swap_messages.flush(work, batch_state.changes, at=now)
        observe_changes.changes_committed(batch_state.changes)
        # A payment that was signed meanwhile is not abandoned, and would be found again at once.
        return len(batch_state.changes) == self._limit
