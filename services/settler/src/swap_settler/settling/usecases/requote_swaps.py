"""From money that is not what a quote was for to another quote, or back to its owner."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from swap_contracts.tracing import trace_id_of
from swap_runtime.clock import Clock
from swap_runtime.crashpoint import crashpoint
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState, assets_of
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.ledger import partner_fee_basis_points_of
from swap_settler.model.messages.message_mapping import paid_id_of, to_quote_terms
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import UnitOfWork
from swap_settler.model.swap import QuoteTerms, Swap
from swap_settler.settling import observe
from swap_settler.settling.decide.requotes import RequoteRefusal, accept, floor_of, refuse
from swap_settler.settling.ports import DueRequote, DueRequotes, Pricing, RequoteWork

Answer = QuoteAnswer | RequoteRefusal


class RequoteSwaps:
    """Ask the quoter about what is there, and execute what it offers or send the money back.

    The quote is requested between two transactions. A swap that holds another sum by then stays
    due. While the quoter is down, sums without a binding quote wait, for a limited time.
    """

    def __init__(
        self,
        unit_of_work: UnitOfWork[RequoteWork],
        *,
        requotes: DueRequotes,
        pricing: Pricing,
        clock: Clock,
        swap_messages: SwapMessages,
        patience: timedelta,
        pause: timedelta,
        limit: int = 50,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._requotes = requotes
        self._pricing = pricing
        self._clock = clock
        self._swap_messages = swap_messages
        self._patience = patience
        self._pause = pause
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        due = await self._requotes.due(limit=self._limit)
        if not due:
            return False
        async with self._unit_of_work() as work:
            swaps = await work.lock_swaps_by_id({one.swap_id for one in due})
        asking = [swap for swap in swaps.values() if swap.asks_for_another_quote]
        answers = await asyncio.gather(*(self._pricing.quote(_question(s)) for s in asking))
        crashpoint("settler.before_requote")
        replies = dict(zip((swap.id for swap in asking), answers, strict=True))
        await self._apply(due, swaps, replies)
        return len(due) == self._limit

    async def _apply(
        self,
        due: Sequence[DueRequote],
        questioned: Mapping[UUID, Swap],
        answers: Mapping[UUID, Answer],
    ) -> None:
        now = self._clock()
        async with self._unit_of_work() as work:
            swaps = await work.lock_swaps_by_id({one.swap_id for one in due})
            inventory = await work.lock_inventory(set().union(*map(assets_of, swaps.values())))
            batch_state = BatchState(swaps, inventory)
            done: list[UUID] = []
            again: list[UUID] = []
            for one in due:
                swap, answer = swaps[one.swap_id], answers.get(one.swap_id)
                if _is_another(swap, questioned[swap.id], answer):
                    continue  # what made it another wrote it down as due
                if answer is RequoteRefusal.NO_ANSWER and self._waits(swap, one.waited):
                    again.append(swap.id)
                    continue
                done.append(swap.id)
                if answer is not None:
                    change = self._change(batch_state, swap, answer, now)
                    batch_state.add(change, trace_id=trace_id_of(swap.id))
            await work.settle_requotes_due(done, again, pause=self._pause)
            await self._swap_messages.flush(work, batch_state.changes, at=now)
        observe_changes.changes_committed(batch_state.changes)
        observe.requotes_answered(batch_state.changes)

    def _waits(self, swap: Swap, waited: timedelta) -> bool:
        """A part waits until the swap's deadline; a promise does not wait at all."""
        if swap.lacks_base_units:
            return swap.asks_for_another_quote
        return swap.quote.locked_at is None and waited < self._patience

    def _change(
        self, batch_state: BatchState, swap: Swap, answer: Answer, now: datetime
    ) -> Changes:
        resources = batch_state.payout_resources(swap, paid_id=paid_id_of(swap))
        if isinstance(answer, RequoteRefusal):
            return refuse(swap, answer, at=now, **resources)
        return accept(swap, _offer(swap, answer, now), at=now, **resources)


def _question(swap: Swap) -> QuoteQuestion:
    source, destination = swap.terms.source, swap.terms.destination
    return QuoteQuestion.model_validate(
        {
            "source_network": source.network,
            "source_token": source.token,
            "destination_network": destination.network,
            "destination_token": destination.token,
            "method": swap.terms.method.value,
            "refuel": swap.quote.refuel is not None,
            "base_units": str(swap.credited_base_units),
            "slippage_ppm": swap.quote.slippage_ppm,
            "partner_fee_basis_points": partner_fee_basis_points_of(swap.quote),
        }
    )


def _offer(swap: Swap, answer: QuoteAnswer, now: datetime) -> QuoteTerms:
    """Return the offer with the least that the user agreed to, whatever its own is.

    Who was quoted no sum agreed to what each offer may lose.
    """
    expires_at = now + timedelta(seconds=answer.lifetime_seconds)
    offered = to_quote_terms(answer.quote, expires_at=expires_at)
    if swap.is_open:
        return offered
    floor = floor_of(swap, offered.swapped_base_units)
    quote = answer.quote.model_copy(update={"min_receive_base_units": str(floor)})
    return to_quote_terms(quote, expires_at=expires_at)


def _is_another(swap: Swap, questioned: Swap, answer: Answer | None) -> bool:
    """Whether the answer is about a sum that is there no more."""
    if swap.credited_base_units != questioned.credited_base_units:
        return True
    return answer is None and swap.asks_for_another_quote
