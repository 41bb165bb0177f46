"""Shows operators everything that is known of a swap or a deposit, and what is claimable."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from swap_settler.operator.store.records import PostgresRecords
from swap_settler.records import Record


class InspectRecords:
    def __init__(self, records: PostgresRecords) -> None:
        self._records = records

    async def find_swap(self, id: UUID) -> Record | None:
        return await self._records.find_swap(id)

    async def find_deposit(self, id: UUID) -> Record | None:
        return await self._records.find_deposit(id)

    async def list_claimable(self, *, after: int, limit: int) -> Sequence[Record]:
        """Return the balances that wait for their owners, and those in suspense.

        :param after: only those with a higher id.
        """
        return await self._records.list_claimable(after=after, limit=limit)

    async def find_claimable(self, id: int) -> Record | None:
        """Return one of them; None where nothing is left of it."""
        return await self._records.find_claimable(id)
