"""What waits to be paid, and what there is to pay it with, as the metrics show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many wait on one network, and for how long the oldest does."""

    network: str
    count: int
    oldest: timedelta


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
    treasury_base_units: int | None  # None until the first snapshot
