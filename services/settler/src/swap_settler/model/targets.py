"""Where a swap's own money may come to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DepositTarget:
    """The deposit address of a swap."""

    network: str
    address: str
    sequence_number: int
    since: datetime

    @property
    def place(self) -> tuple[str, str]:
        return self.network, self.address
