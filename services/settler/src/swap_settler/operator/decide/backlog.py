"""What waits to be paid, and what there is to pay it with, as the metrics show it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from swap_settler.model.ledger.accounts import OWING, AccountKind


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


class Side(StrEnum):
    """One side of an asset's cover."""

    HELD = "held"
    OWED = "owed"

    @property
    def kinds(self) -> Collection[AccountKind]:
        return OWING if self is Side.OWED else frozenset({AccountKind.CUSTODY})


@dataclass(frozen=True, slots=True)
class OpenAccount:
    """An account with a balance, which is a part of what is held or owed of an asset."""

    id: int
    kind: AccountKind
    address: str | None  # of custody
    swap_id: UUID | None
    deposit_id: UUID | None
    app_id: UUID | None
    base_units: int
