"""The refunds that wait to be worked out, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from swap_runtime.postgres.database import Engine, read_alone
from swap_settler.model.store import due_statements as statements
from swap_settler.settling.ports import DueRefund


class PostgresDueRefunds:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def due(self, network: str, *, limit: int) -> Sequence[DueRefund]:
        values = {"network": network, "limit": limit}
        rows = await read_alone(self._engine, statements.REFUNDS_DUE, values)
        return [DueRefund(row.id, row.swap_id, row.deposit_id, row.waited) for row in rows]
