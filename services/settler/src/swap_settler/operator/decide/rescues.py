"""What operators decided about tokens outside the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ReturnOrder:
    """The operators' decision to whom a token outside the catalogue goes back."""

    id: int
    network: str
    transaction_hash: str
    token: str
    from_address: str
    to_address: str
    base_units: int
    returned_to: str
    by: str
    reason: str
    at: datetime
