"""The stored rises of coins whose transaction is not known, read without a lock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swap_chain_watcher.adapters import statements
from swap_chain_watcher.adapters.rows import to_tracked
from swap_chain_watcher.domain.movements import TrackedMovement
from swap_runtime.postgres.database import Engine, reading


class PostgresRises:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_without_transaction(
        self, network: str, *, since: datetime, limit: int
    ) -> Sequence[TrackedMovement]:
        asked = {"network": network, "limit": limit}
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.RISES_WITHOUT_TRANSACTION, asked)
        return [to_tracked(row) for row in rows if row.block_time >= since]

    async def hinted(self, network: str, *, limit: int) -> Sequence[str]:
        asked = {"network": network, "limit": limit}
        async with reading(self._engine) as connection:
            return list(await connection.scalars(statements.HINTED_TRANSACTIONS, asked))
