"""A hot key on one network, as an operator looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Halted:
    reason: str
    at: datetime | None  # None: halted before the time was kept


@dataclass(frozen=True, slots=True)
class Resumed:
    at: datetime
    by: str
    reason: str


EVERYWHERE: Final = "*"
NO_INTENT: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Stop:
    """An operator's order to sign nothing on a network, or on all of them."""

    network: str  # EVERYWHERE: on all
    at: datetime
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Closure:
    """An operator's order to take no new swap from or to a network; those under way go on."""

    network: str
    at: datetime
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """An address that must not be paid, by an operator's order."""

    address: str  # lower case
    network: str | None  # None: on all
    at: datetime
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Signer:
    """What its lane has handed out and not closed, and whether it may hand out more."""

    network: str
    address: str
    next_nonce: int
    open_slots: int
    oldest_slot_at: datetime | None
    halted: Halted | None
    resumed: Resumed | None  # the last time


@dataclass(frozen=True, slots=True)
class NoncePayment:
    """A nonce that is not closed, with one of its payments."""

    nonce: int
    since: datetime
    transaction_hash: str | None  # of the latest attempt; None before the first
    intent_id: UUID | None  # None: it pays nothing
    kind: str | None
    swap_id: UUID | None

    @property
    def place(self) -> NoncePlace:
        return NoncePlace(self.nonce, self.intent_id or NO_INTENT)


@dataclass(frozen=True, slots=True)
class NoncePlace:
    """An open nonce with a payment in the order of the list: the lowest first."""

    nonce: int
    intent_id: UUID


FIRST_NONCE: Final = NoncePlace(-1, NO_INTENT)  # before all
