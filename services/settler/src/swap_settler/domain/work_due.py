"""What remains to be done after a batch, derived from where its facts have left each swap. Pure.

Several facts of one batch may concern one swap. What each fact asked for counts only if the swap
still needs it after the last of them; and what one of them asked for is never lost to a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from swap_settler.domain.changes import Changes
from swap_settler.domain.refuels import completion_due_at
from swap_settler.domain.refunds import is_refundable
from swap_settler.domain.swap import Leg, Swap


@dataclass(frozen=True, slots=True)
class RefundDue:
    network: str
    swap_id: UUID
    leg: Leg


@dataclass(frozen=True, slots=True)
class WorkDue:
    refunds: tuple[RefundDue, ...]
    requotes: tuple[UUID, ...]  # swaps whose sum has changed since the quoter was asked
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
