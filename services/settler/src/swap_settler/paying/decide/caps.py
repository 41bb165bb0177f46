"""How much may leave in a time span, and which payment is next. Pure: the lane has locked and read
the caps.

A payment leaves when every cap that it falls under has room for it. One that a cap refuses waits in
that cap's queue, the oldest first, and no later one under the same cap goes before it. One that is
larger than the whole cap, or has no price where dollars count, blocks no other: only an operator
can release it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from swap_settler.paying.decide.lane import Payment

QueuePosition = tuple[datetime, UUID]  # in a line: by age


@dataclass(frozen=True, slots=True)
class Cap:
    """What may leave under one name in any span of time; base units of its token, else micros."""

    id: int
    units: int | None  # None: it was lifted
    spent: int  # in the span that ends now
    queue_head: QueuePosition | None  # the oldest in its queue, without the present payments

    def fits(self, amount: int | None, spent_now: int) -> bool:
        if self.units is None:
            return True
        return amount is not None and self.spent + spent_now + amount <= self.units

    def can_ever_fit(self, amount: int | None) -> bool:
        return self.units is None or (amount is not None and amount <= self.units)


@dataclass(frozen=True, slots=True)
class CapRequest:
    """A payment that is about to leave, with what it counts under each cap that it falls under."""

    intent_id: UUID
    created_at: datetime
    amounts: Mapping[int, int | None]  # None: it has no price
    has_pass: bool

    @property
    def position(self) -> QueuePosition:
        return self.created_at, self.intent_id


@dataclass(slots=True)
class Admission:
    """Which of them leave, what that spends, and which cap keeps each of the others."""

    leave: set[UUID] = field(default_factory=set)
    spent: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    refused_by: dict[UUID, frozenset[int]] = field(default_factory=dict)


def admit(requests: Sequence[CapRequest], caps: Mapping[int, Cap]) -> Admission:
    """Let go what fits, the oldest first; what was let through counts too."""
    admission = Admission()
    closed: set[int] = set()  # an older one waits there
    for one in sorted(requests, key=lambda a: a.position):
        refusing = frozenset(
            id
            for id, amount in one.amounts.items()
            if id in closed or not _has_turn(caps[id], one, amount, admission.spent[id])
        )
        if refusing and not one.has_pass:
            admission.refused_by[one.intent_id] = refusing
            closed |= {id for id in refusing if caps[id].can_ever_fit(one.amounts[id])}
            continue
        admission.leave.add(one.intent_id)
        for id, amount in one.amounts.items():
            admission.spent[id] += amount or 0
    return admission


def _has_turn(cap: Cap, one: CapRequest, amount: int | None, spent_now: int) -> bool:
    if cap.units is None:
        return True
    is_behind = cap.queue_head is not None and one.position > cap.queue_head
    # A payment that can never fit has no place in the queue, and waits for no other.
    return not is_behind and cap.fits(amount, spent_now)


@dataclass(frozen=True, slots=True)
class WithheldPayment:
    """A payment that the Treasury would not pay now, or not at all as its limit is set."""

    intent_id: UUID
    base_units: int
    is_too_large: bool
    is_changed: bool  # it stood elsewhere, or in no line


def beyond_limit(
    payments: Sequence[Payment],
    *,
    available: int,
    capacity: int,
    queue_length_max: int,
) -> Sequence[Payment]:
    """Return which payments of one token the Treasury would not pay, all of them together.

    :param available: what it would pay now, without what is out and not in a block yet.
    :param capacity: what it would ever pay at once.
    :param queue_length_max: with so many from its line here, more may stand behind them.
    """
    may_join = queue_length(payments) < queue_length_max
    refused: list[Payment] = []
    is_closed = False
    for payment in sorted(payments, key=lambda p: (p.created_at, p.intent_id)):
        if payment.base_units > capacity:
            refused.append(payment)
        elif is_closed or payment.base_units > available:
            refused.append(payment)
            is_closed = True
        elif not payment.is_queued and not may_join:
            refused.append(payment)
        else:
            available -= payment.base_units
    return refused


def queue_length(payments: Sequence[Payment]) -> int:
    """Count the loaded payments of each queue; those above the whole cap wait beside it."""
    return sum(payment.is_queued and not payment.is_too_large for payment in payments)


def withheld_payment(payment: Payment, *, capacity: int) -> WithheldPayment:
    too_large = payment.base_units > capacity
    is_changed = not payment.is_queued or payment.is_too_large != too_large
    return WithheldPayment(payment.intent_id, payment.base_units, too_large, is_changed)


@dataclass(frozen=True, slots=True)
class CapState:
    """A cap as an operator looks at it."""

    id: int
    network: str
    token: str | None
    app_id: UUID | None
    units: int
    span: timedelta
    spent: int
    waiting: int
    set_at: datetime
    set_by: str
    set_because: str
