"""What waits to be paid, and what there is to pay it with, as the metrics show it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from swap_settler.model.ledger.accounts import OWING, AccountKind


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many wait on one network, and for how long the oldest does."""

    network: str
    count: int
    oldest: timedelta


class BacklogKind(StrEnum):
    """The kinds of backlog."""

    DEPOSITS = "deposits"  # booked, of swaps without an end
    REFUNDS = "refunds"  # not final


@dataclass(frozen=True, slots=True)
class OpenSwaps:
    """How many swaps have a status that is not their last, and the age of the oldest of them."""

    status: str
    count: int
    oldest: timedelta  # since it was created


@dataclass(frozen=True, slots=True)
class Cover:
    """One asset: what the ledger holds and owes, and what the Treasury had at a final block."""

    network: str
    token: str  # address
    held_base_units: int
    owed_base_units: int
    treasury: str  # its address
    treasury_base_units: int | None  # None until the first snapshot
    block_number: int | None  # of the snapshot


class Side(StrEnum):
    """One side of an asset's cover, or both: what is held less what is owed."""

    HELD = "held"
    OWED = "owed"
    FREE = "free"

    @property
    def kinds(self) -> Collection[AccountKind]:
        custody = frozenset({AccountKind.CUSTODY})
        return {Side.HELD: custody, Side.OWED: OWING, Side.FREE: custody | OWING}[self]

    @property
    def sign(self) -> int:
        """Return what a balance of the ledger counts here: what is owed is negative there."""
        return -1 if self is Side.OWED else 1
