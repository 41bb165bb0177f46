"""What remains to be done after a batch, derived from where its facts have left each swap. Pure.

Several facts of one batch may concern one swap. Work that a fact made due counts only if the swap
still needs it after the last of them. A later fact never hides earlier work that is
still needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_domain.lifecycle import Status
from swap_settler.model.changes import Changes
from swap_settler.model.swap import IntentState, Leg, Swap

# How long a final output waits for its refuel to leave.
WAITS_FOR: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class RefundDue:
    network: str
    swap_id: UUID
    leg: Leg


@dataclass(frozen=True, slots=True)
class WorkDue:
    refunds: tuple[RefundDue, ...]
    requotes: tuple[UUID, ...]  # swaps with a sum that has changed since the last quote
    completions: Mapping[UUID, datetime]


def work_due(changes: Sequence[Changes]) -> WorkDue:
    """Return the work that a batch leaves, each piece once.

    :param changes: in the order of their facts.
    """
    final = {c.swap.id: c.swap for c in changes if c.swap is not None}
    requoted = {c.swap.id for c in changes if c.swap is not None and c.is_requote_due}
    ends = {id: completion_due_at(swap) for id, swap in final.items()}
    return WorkDue(
        refunds=tuple(_refunds(final, changes)),
        requotes=tuple(
            id for id, swap in final.items() if id in requoted and swap.asks_for_another_quote
        ),
        completions={id: at for id, at in ends.items() if at is not None},
    )


def _refunds(final: Mapping[UUID, Swap], changes: Iterable[Changes]) -> Iterable[RefundDue]:
    due_legs = ((c.swap.id, leg) for c in changes if c.swap is not None for leg in c.refunds_due)
    for swap_id, leg in dict.fromkeys(due_legs):
        swap = final[swap_id]
        if is_refundable(swap, leg):
            yield RefundDue(swap.terms.source.network, swap_id, leg)


def is_refundable(swap: Swap, leg: Leg) -> bool:
    """Whether a leg holds money that can go back, and no payment of it is under way."""
    if not returnable_base_units(swap, leg) or swap.terms.refund_address is None:
        return False
    return swap.refund_of(leg) is None and not swap.reorged_out_of(leg)


def returnable_base_units(swap: Swap, leg: Leg) -> int:
    """Return what a leg could send back now."""
    if leg is None:
        return swap.refundable_base_units if swap.status is Status.REFUND_PENDING else 0
    deposit = swap.deposits.get(leg)
    return deposit.returned_base_units if deposit is not None and deposit.is_booked else 0


def completion_due_at(swap: Swap) -> datetime | None:
    """Return when a swap with a final output completes without its refuel."""
    output = swap.output
    if swap.status is not Status.PAYOUT_PENDING or output is None:
        return None
    if output.state is not IntentState.CONFIRMED:
        return None
    assert output.confirmed_at is not None, "a confirmed payment has its time"
    return output.confirmed_at + WAITS_FOR
