"""A hot key on one network, as an operator looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final


@dataclass(frozen=True, slots=True)
class SignerHalt:
    reason: str
    at: datetime | None  # None: halted before the time was kept


@dataclass(frozen=True, slots=True)
class SignerResume:
    at: datetime
    by: str
    reason: str


EVERYWHERE: Final = "*"


@dataclass(frozen=True, slots=True)
class Stop:
    """An operator's order to sign nothing on a network, or on all of them."""

    network: str  # EVERYWHERE: on all
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
    halted: SignerHalt | None
    resumed: SignerResume | None  # the last time
