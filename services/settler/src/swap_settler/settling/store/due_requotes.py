"""The swaps with a due requote, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from swap_runtime.postgres.database import Engine, read_alone
from swap_settler.model.store import due_statements as statements
from swap_settler.settling.ports import DueRequote


class PostgresDueRequotes:
    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        values = {"consumer": self._consumer, "limit": limit}
        rows = await read_alone(self._engine, statements.REQUOTES_DUE, values)
        return [DueRequote(row.swap_id, row.waited) for row in rows]
