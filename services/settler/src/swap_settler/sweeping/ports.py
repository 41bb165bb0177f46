"""What sweeping needs from the outside."""

from __future__ import annotations

from typing import Protocol


class Withdrawals(Protocol):
    """What the owner took out. Locks nothing."""

    async def has_unbooked(self) -> bool:
        """Whether a final one is not in the ledger."""
        ...
