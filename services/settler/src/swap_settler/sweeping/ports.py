"""What sweeping needs from the outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from swap_settler.model.ports import Place, Work
from swap_settler.model.treasury import DueSweep


class SweepWork(Work, Protocol):
    """A settler's transaction in which sweeps of deposit addresses are ordered or booked."""

    async def addresses_without_swap(self, network: str, *, limit: int) -> frozenset[Place]:
        """Return from where the first final sweeps came that are not booked, and no swap has."""
        ...

    async def confirm_sweeps(self, network: str) -> None:
        """Mark our sweeps confirmed that are final, and whose bookings are made."""
        ...

    async def lock_due_sweeps(self, network: str, *, limit: int) -> Sequence[DueSweep]:
        """Load what is due at deposit addresses; what somebody else holds is left."""
        ...

    async def order_sweeps(self, ordered: Mapping[UUID, DueSweep]) -> None:
        """Say what intents are to empty, and forget that it is due. After the flush of them."""
        ...

    async def settle_sweeps_due(
        self, done: Sequence[DueSweep], again: Sequence[DueSweep], *, pause: timedelta
    ) -> None:
        """Forget what is not due any more, and let wait what is not worth it now."""
        ...


class SweepUnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[SweepWork]: ...


class DueSweeps(Protocol):
    """What stands at deposit addresses. Locks nothing."""

    async def has_due(self, network: str) -> bool: ...

    async def has_unbooked(self, network: str) -> bool:
        """Whether final sweeps wait to be booked, or ours to be confirmed."""
        ...


class Withdrawals(Protocol):
    """What the owner took out. Locks nothing."""

    async def has_unbooked(self) -> bool:
        """Whether a final one is not in the ledger."""
        ...
