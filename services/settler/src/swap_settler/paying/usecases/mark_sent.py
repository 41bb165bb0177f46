"""Mark broadcast attempts as sent and publish the change for every swap they pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from swap_chains.ports import Broadcast
from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_settler.model.batch_state import BatchState
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.paying import observe
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork
from swap_settler.settling.decide.payouts import mark_sent, mark_standalone_sent

NO_DELAY: Final = timedelta(0)


def unrefused_hashes(network: str, answers: Sequence[Broadcast]) -> Sequence[str]:
    """Log the attempts that every node refused, and return the hashes of the others."""
    for answer in answers:
        if not answer.is_held_by_a_node:
            observe.broadcast_refused(network, answer.transaction_hash, answer.text)
    return [a.transaction_hash for a in answers if not a.is_refused]


class MarkSent:
    """Marks attempts as sent, in one transaction with the messages about it."""

    def __init__(
        self, unit_of_work: PostgresLaneUnitOfWork, *, clock: Clock, swap_messages: SwapMessages
    ) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._swap_messages = swap_messages

    async def record_results(self, network: str, answers: Sequence[Broadcast]) -> None:
        """Log the attempts that every node refused, and mark the others as sent."""
        await self(dict.fromkeys(unrefused_hashes(network, answers), NO_DELAY))

    async def __call__(self, sent_ago: Mapping[str, timedelta]) -> None:
        """Mark attempts, each with the time since a node accepted it."""
        if not sent_ago:
            return
        async with self._unit_of_work() as work:
            intents = await work.intents_of(sent_ago)
            swaps = await work.lock_swaps_by_id({swap for swap in intents.values() if swap})
            standalone_intents = await work.lock_standalone_intents(
                {i for i, swap in intents.items() if swap is None}
            )
            now = self._clock()
            batch_state = BatchState(swaps, {})
            for intent_id, swap_id in intents.items():
                if swap_id is not None:
                    swap = batch_state.swaps[swap_id]
                    batch_state.add(
                        mark_sent(swap, intent_id, at=now), trace_id=trace_id_of(swap.id)
                    )
            for intent in standalone_intents.values():
                batch_state.add(mark_standalone_sent(intent, at=now), trace_id=str(intent.id))
            await work.mark_attempts_sent(sent_ago)
            await self._swap_messages.flush(work, batch_state.changes, at=now)
