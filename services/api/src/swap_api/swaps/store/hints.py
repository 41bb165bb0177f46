"""Deposit hints: chain transactions that a client names for a swap, each once, ten at most."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_runtime.clock import Clock
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, execute_alone, reading, transaction
from swap_runtime.postgres.sql import sql

PER_SWAP_MAX: Final = 10
# The swap's row is held: two hints at once are counted one after the other.
LOCK_SWAP: Final = sql("SELECT id FROM swap WHERE id = :swap_id FOR UPDATE")
ADD: Final = sql("""
INSERT INTO deposit_hint (swap_id, transaction_hash)
SELECT :swap_id, :transaction_hash
WHERE (SELECT count(*) FROM deposit_hint WHERE swap_id = :swap_id) < :most
ON CONFLICT DO NOTHING
""")
HAS_HINT: Final = sql("""
SELECT EXISTS (
  SELECT FROM deposit_hint JOIN swap ON swap.id = deposit_hint.swap_id
  WHERE deposit_hint.transaction_hash = :transaction_hash
    AND swap.app_id = :app_id AND swap.source_network = :network)
""")
# The watcher looks for a hinted transaction for minutes; later a hint explains an unknown hash.
DELETE_OLD: Final = sql("""
DELETE FROM deposit_hint WHERE (swap_id, transaction_hash) IN (
  SELECT swap_id, transaction_hash FROM deposit_hint WHERE created_at < :before
  ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED)
""")
RETENTION: Final = timedelta(days=30)
DELETE_BATCH_MAX: Final = 1000


class PostgresHints:
    def __init__(self, engine: Engine, *, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    async def add(self, swap_id: UUID, transaction_hash: str, outgoing: Outgoing) -> bool:
        """Store the hint and its message; False for a repeated hint and for one beyond the limit.

        :raises Unavailable: when Postgres is unavailable.
        """
        values = {"swap_id": swap_id, "transaction_hash": transaction_hash, "most": PER_SWAP_MAX}
        async with transaction(self._engine) as connection:
            connection.post(LOCK_SWAP, {"swap_id": swap_id})
            if not (await connection.execute(ADD, values)).changed:
                return False
            add_to_outbox(connection, [outgoing])
        return True

    async def has_hint(self, app_id: UUID, network: str, transaction_hash: str) -> bool:
        """Whether a hint for a swap of the app, from that network, names the transaction.

        :param transaction_hash: in lower case.
        :raises Unavailable: when Postgres is unavailable.
        """
        values = {"app_id": app_id, "network": network, "transaction_hash": transaction_hash}
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(HAS_HINT, values))

    async def delete_old(self) -> bool:
        """Delete hints that are older than they are kept; True when there may be more."""
        values = {"before": self._clock() - RETENTION, "limit": DELETE_BATCH_MAX}
        deleted = (await execute_alone(self._engine, DELETE_OLD, values)).changed
        observe.hints_deleted(deleted)
        return deleted == DELETE_BATCH_MAX
