"""What weighing an order needs of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from swap_settler.domain.stakes import Amount, CapLimit


class Stakes(Protocol):
    async def claimable(self, id: int) -> Amount | None:
        """Return a balance that waits for its owner."""
        ...

    async def partner_fee(self, id: int) -> Amount | None:
        """Return what is owed to an app, whatever part of it is paid."""
        ...

    async def payment(self, id: UUID) -> Amount | None: ...

    async def inventory(self) -> Sequence[Amount]:
        """Return what the Treasuries hold by the ledger, of all networks."""
        ...

    async def cap(self, network: str, token: str | None, app_id: UUID | None) -> CapLimit | None:
        """Return a cap; None when nothing is capped there."""
        ...
