"""What an operator reads of losses and of invariants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LossPlace:
    """A posting in the order of the list: the newest first."""

    at: datetime
    id: UUID  # of the ledger transaction, which has one posting of a loss


@dataclass(frozen=True, slots=True)
class LossEntry:
    """One posting of a loss; negative where it was found again."""

    place: LossPlace
    kind: str
    swap_id: UUID | None
    network: str
    token: str
    base_units: int


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """The first rows that break one invariant; none where it holds."""

    name: str
    rows: Sequence[Mapping[str, object]]
    failure: str | None = None  # why it could not be checked
