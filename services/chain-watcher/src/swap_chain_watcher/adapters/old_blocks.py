"""Blocks that only the past needs, on Postgres."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from swap_chain_watcher.adapters.statements import LOCK_CURSOR
from swap_runtime.postgres.database import Engine, transaction
from swap_runtime.postgres.sql import sql

# Below `least(...)` neither the follower nor a second look reads a block again. What was examined
# is below `pruned_number` and never read for this again, although blocks with movements remain.
PRUNE_BLOCKS: Final = sql("""
WITH old AS MATERIALIZED (
    SELECT block.hash, block.number
    FROM (SELECT pruned_number, least(finalized_number, checked_number) AS upto
          FROM watch_cursor WHERE network = :network) AS cursor
    CROSS JOIN LATERAL (
        SELECT hash, number, time FROM chain_block
        WHERE network = :network AND state = 'canonical'
          AND number >= cursor.pruned_number AND number < cursor.upto
        ORDER BY number LIMIT :limit) AS block
    WHERE block.time < :before
), deleted AS (
    DELETE FROM chain_block WHERE network = :network AND hash IN (
        SELECT hash FROM old WHERE NOT EXISTS (
            SELECT FROM movement WHERE network = :network AND block_hash = old.hash))
    RETURNING hash
), marked AS (
    UPDATE watch_cursor SET pruned_number = last.number + 1,
      start_number = greatest(start_number, last.number + 1)
    FROM (SELECT max(number) AS number FROM old) AS last
    WHERE network = :network AND last.number IS NOT NULL
)
SELECT (SELECT count(*) FROM old) AS examined, (SELECT count(*) FROM deleted) AS deleted
""")


class PruningRound(NamedTuple):
    """What one round looked at, and how much of it is gone."""

    examined: int
    deleted: int


class PostgresOldBlocks:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def prune(self, network: str, *, before: datetime, limit: int) -> PruningRound:
        """Delete the oldest blocks without movements that were final and read twice before then."""
        values = {"network": network}
        # Behind the lock, so that of two replicas the second begins where the first ended.
        async with transaction(self._engine) as connection:
            _, rows = await connection.ask(
                (LOCK_CURSOR, values), (PRUNE_BLOCKS, {**values, "before": before, "limit": limit})
            )
        row = rows.one()
        return PruningRound(int(row.examined), int(row.deleted))
