"""The stored rises without a known transaction, read without a lock.

A rise: the coins of a deposit address became more, which no log reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swap_chain_watcher.adapters import statements
from swap_chain_watcher.adapters.rows import to_tracked
from swap_chain_watcher.domain.movements import TrackedMovement
from swap_runtime.postgres.database import Engine, read_alone, reading


class PostgresRises:
    """The stored rises of coins without a known transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_without_transaction(
        self, network: str, *, since: datetime, limit: int
    ) -> Sequence[TrackedMovement]:
        """Return those in blocks of this time or later, the newest first."""
        values = {"network": network, "limit": limit}
        rows = await read_alone(self._engine, statements.RISES_WITHOUT_TRANSACTION, values)
        return [to_tracked(row) for row in rows if row.block_time >= since]

    async def find_hinted(self, network: str, *, limit: int) -> Sequence[str]:
        """Return the transactions of hints that no movement has yet."""
        values = {"network": network, "limit": limit}
        async with reading(self._engine) as connection:
            return list(await connection.scalars(statements.HINTED_TRANSACTIONS, values))
