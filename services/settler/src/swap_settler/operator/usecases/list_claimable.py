from __future__ import annotations

from collections.abc import Sequence

from swap_settler.operator.store.records import PostgresRecords, Record


class ListClaimable:
    """List the balances that wait for their owners, and those in suspense, for operators."""

    def __init__(self, records: PostgresRecords) -> None:
        self._records = records

    async def __call__(self, *, after: int, limit: int) -> Sequence[Record]:
        """
        :param after: only those with a higher id.
        """
        return await self._records.list_claimable(after=after, limit=limit)

    async def find(self, id: int) -> Record | None:
        return await self._records.find_claimable(id)
