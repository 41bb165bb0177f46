"""The swaps that the quoter is to be asked about, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from swap_runtime.database import Engine, reading
from swap_settler.adapters import due_statements as statements
from swap_settler.ports import DueRequote


class PostgresDueRequotes:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.REQUOTES_DUE, {"limit": limit})
        return [DueRequote(row.swap_id, row.waited) for row in rows]
