"""What an app earns by its own fee, and what it is paid of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class FeeEntryKind(StrEnum):
    FEE = "fee"
    PAYOUT = "payout"


@dataclass(frozen=True, slots=True)
class FeeBalance:
    """An app's fees in one asset, in base units: earned is the sum of the three."""

    network: str
    token: str
    waiting: int  # for an operator's order
    pending: int  # ordered, and not final
    completed: int  # final payouts

    @property
    def earned(self) -> int:
        return self.waiting + self.pending + self.completed


@dataclass(frozen=True, slots=True)
class FeeEntry:
    """A fee that a swap earned, or a payout of fees."""

    id: UUID
    kind: FeeEntryKind
    at: datetime
    network: str
    token: str
    base_units: int
    swap_id: UUID | None  # of a fee
    to_address: str | None  # of a payout, as the rest
    transaction_hash: str | None
    state: str | None


@dataclass(frozen=True, slots=True)
class FeeFilter:
    """Which entries of one app, newest first."""

    app_id: UUID
    page_size: int
    kind: FeeEntryKind | None = None
    asset: tuple[str, str] | None = None  # network, and the token's address
    starting_after: UUID | None = None  # an entry of the list; the page begins behind it


@dataclass(frozen=True, slots=True)
class FeePage:
    entries: tuple[FeeEntry, ...]
    has_more: bool
