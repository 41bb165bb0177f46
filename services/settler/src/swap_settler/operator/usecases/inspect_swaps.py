from __future__ import annotations

from uuid import UUID

from swap_settler.operator.store.records import PostgresRecords, Record


class InspectSwaps:
    """Show an operator everything that is known of a swap."""

    def __init__(self, records: PostgresRecords) -> None:
        self._records = records

    async def __call__(self, swap_id: UUID) -> Record | None:
        return await self._records.find_swap(swap_id)
