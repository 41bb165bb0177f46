"""Keeps how long completed swaps took, route by route."""

from __future__ import annotations

from collections.abc import Sequence

from swap_contracts.envelope import Envelope
from swap_contracts.swaps import SwapTiming
from swap_domain.lifecycle import Status
from swap_quoter import observe
from swap_quoter.adapters.unit_of_work import PostgresUnitOfWork
from swap_quoter.domain.completions import Completion, duration_milliseconds


class RecordCompletions:
    def __init__(self, unit_of_work: PostgresUnitOfWork, *, window: int) -> None:
        self._unit_of_work = unit_of_work
        self._window = window

    async def __call__(self, messages: Sequence[Envelope[SwapTiming]]) -> None:
        async with self._unit_of_work() as work:
            fresh = await work.mark_seen([message.message_id for message in messages])
            found = (_find(m.body) for m in messages if m.message_id in fresh)
            completions = [completion for completion in found if completion is not None]
            if completions:
                await work.save_completions(completions, window=self._window)
        observe.completions_recorded(completions)


def _find(swap: SwapTiming) -> Completion | None:
    """Return the completion if this fact is one and its deposit is known."""
    if swap.status != Status.COMPLETED or swap.previous_status == swap.status:
        return None
    inputs = [transaction.at for transaction in swap.transactions if transaction.type == "input"]
    seen_at = swap.quote_locked_at or min(inputs, default=None)
    if seen_at is None:
        return None
    closed_at = swap.closed_at or swap.changed_at
    return Completion(
        swap_id=swap.swap_id,
        route=(
            swap.source.network,
            swap.source.token,
            swap.destination.network,
            swap.destination.token,
        ),
        milliseconds=duration_milliseconds(seen_at=seen_at, closed_at=closed_at),
        closed_at=closed_at,
    )
