"""An operator who is signed in, and the orders that wait for a confirmation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

ORDERS_MAX: Final = 20  # of one session; the oldest goes first
CONFIRMATION_TIMEOUT: Final = timedelta(minutes=5)
REASON_MAX: Final = 2000


class OrderState(StrEnum):
    """How far an order has got."""

    OPEN = "open"  # shown, not confirmed
    SENT = "sent"  # confirmed; no answer yet
    DONE = "done"
    ACTION_REQUIRED = "not over"  # carried out, and its operator must do something more
    PROPOSED = "proposed"  # it waits for a second operator
    REFUSED = "refused"
    UNKNOWN = "unknown"  # no answer came: it may have been carried out


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row as its operator saw it. The order is not sent once the row is another one."""

    service: str
    path: str
    rows: str  # the member of the answer that has the rows
    key: Mapping[str, Any]
    row: Mapping[str, Any]

    def is_same(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the row is there still, in all members that were shown."""
        found = next((row for row in rows if self._has_key(row)), None)
        return found is not None and all(found.get(name) == self.row[name] for name in self.row)

    def _has_key(self, row: Mapping[str, Any]) -> bool:
        return all(row.get(name) == value for name, value in self.key.items())


@dataclass(frozen=True, slots=True)
class OrderDraft:
    """What will be sent once it is confirmed, and what is shown of it."""

    service: str
    path: str
    body: Mapping[str, Any]
    title: str
    facts: Sequence[tuple[str, str]]
    back: str  # the page it came from
    warning: str = ""
    seen: SeenRow | None = None

    def is_same_order(self, other: OrderDraft) -> bool:
        """Whether both order the same, however it is shown."""
        return (self.service, self.path, self.body) == (other.service, other.path, other.body)


@dataclass(slots=True)
class PendingOrder:
    """One order of one session. It is sent at most once."""

    id: UUID
    draft: OrderDraft
    made_at: datetime
    state: OrderState = OrderState.OPEN
    words: str = ""
    proposal_id: str = ""

    def is_expired(self, at: datetime) -> bool:
        return self.state is OrderState.OPEN and at > self.made_at + CONFIRMATION_TIMEOUT

    def is_confirmable(self, at: datetime) -> bool:
        return self.state is OrderState.OPEN and not self.is_expired(at)

    def may_be_replaced(self, at: datetime, *, is_same: bool) -> bool:
        """Whether an order of the same form takes its place: nothing was ordered by this one.

        :param is_same: the other one orders the same.
        """
        if self.was_sent:
            return False
        return self.state is OrderState.REFUSED or not is_same or self.is_expired(at)

    @property
    def was_sent(self) -> bool:
        """Whether it may have been carried out."""
        return self.state not in (OrderState.OPEN, OrderState.REFUSED)

    def begin(self, at: datetime) -> bool:
        """Take the order to send it; False for a second request, or one that is too late."""
        if not self.is_confirmable(at):
            return False
        self.state = OrderState.SENT
        return True

    def end(self, state: OrderState, words: str = "", *, proposal_id: str = "") -> None:
        self.state, self.words, self.proposal_id = state, words, proposal_id


@dataclass(slots=True)
class OperatorSession:
    """One browser that an operator signed in. The token is in memory alone."""

    id: UUID
    name: str
    role: str
    token: str = field(repr=False)
    created_at: datetime
    last_seen_at: datetime
    browser: str
    address: str
    orders: dict[UUID, PendingOrder] = field(default_factory=dict, repr=False)
    sent_before: set[UUID] = field(default_factory=set, repr=False)  # and no longer in `orders`

    @property
    def may_order(self) -> bool:
        return self.role == "operator"

    def add_order(self, order: PendingOrder) -> None:
        """Add one, in the place of one that ordered nothing; of too many the oldest goes."""
        self.orders.pop(order.id, None)
        while len(self.orders) >= ORDERS_MAX:
            oldest = self.orders.pop(next(iter(self.orders)))
            if oldest.was_sent:
                self.sent_before.add(oldest.id)
        self.orders[order.id] = order
