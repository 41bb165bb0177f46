"""The settler's transaction, with what an operator orders in it."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from swap_runtime.messaging.unit_of_work import UnitOfWork
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresWork
from swap_settler.operator.decide.claims import Claimable
from swap_settler.records import to_dataclass

CLAIMABLE: Final = sql("""
SELECT id, network, token, swap_id, deposit_id, -balance AS base_units FROM account
WHERE id = :id AND kind IN ('claimable', 'suspense') AND balance <> 0
""")
ADD_ORDER: Final = sql("""
UPDATE intent SET ordered_by = :by, ordered_because = :reason WHERE id = :id
""")


class PostgresClaimWork(PostgresWork):
    """A settler's transaction in which an operator orders what becomes of a claimable balance."""

    async def claimable(self, id: int) -> Claimable | None:
        """Return a balance that waits for its owner. The lock of its swap or key locks it."""
        row = (await self._connection.execute(CLAIMABLE, {"id": id})).one_or_none()
        return None if row is None else to_dataclass(Claimable, row)

    async def store_order(self, intent_id: UUID, *, by: str, reason: str) -> None:
        """Keep who ordered a payment, and why, with it. After the flush."""
        values = {"id": intent_id, "by": by, "reason": reason}
        await self._connection.execute(ADD_ORDER, values)
        await log_order(self._connection)


class PostgresClaimUnitOfWork(UnitOfWork[PostgresClaimWork]):
    _opens = PostgresClaimWork
