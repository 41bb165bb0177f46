from __future__ import annotations

from collections.abc import Sequence

from swap_settler.operator.store.records import PostgresRecords, Record


class ListClaimable:
    """List the balances that wait for their owners, and those in suspense, for operators."""

    def __init__(self, records: PostgresRecords) -> None:
        self._records = records

    async def __call__(self, *, limit: int) -> Sequence[Record]:
        return await self._records.list_claimable(limit=limit)
