"""What happened to a swap, and what was booked for it, as the settler publishes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SwapEvent:
    sequence: int
    from_status: str | None
    to_status: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Posting:
    """One line of a swap's ledger; the lines of a transaction follow each other."""

    transaction_id: UUID
    reason: str
    at: datetime
    network: str | None
    block_number: int | None
    account: str
    asset_network: str
    asset_token: str
    base_units: int
