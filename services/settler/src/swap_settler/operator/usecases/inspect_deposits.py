"""Shows an operator one deposit, of a swap or of none."""

from uuid import UUID

from swap_settler.operator.store.records import PostgresRecords, Record


class InspectDeposits:
    """Show an operator everything that is known of a deposit."""

    def __init__(self, records: PostgresRecords) -> None:
        self._records = records

    async def __call__(self, deposit_id: UUID) -> Record | None:
        return await self._records.find_deposit(deposit_id)
