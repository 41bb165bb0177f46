"""What use cases of withdrawals need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from swap_settler.model.ports import Work
from swap_settler.model.treasury import Withdrawal


class Withdrawals(Protocol):
    """Withdrawals from the Treasury. Locks nothing."""

    async def has_unbooked(self) -> bool:
        """Whether a final one is not in the ledger."""
        ...


class WithdrawalWork(Work, Protocol):
    """A transaction that books withdrawals from the Treasury."""

    async def lock_unbooked_withdrawals(self, *, limit: int) -> Sequence[Withdrawal]:
        """Load the final withdrawals that the ledger does not have, by block; skip locked ones."""
        ...

    async def mark_withdrawals_booked(self, ids: Sequence[UUID]) -> None: ...
