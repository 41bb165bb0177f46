"""Transactions that callers name for a swap: each once, and a limited number."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, reading, transaction
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


class PostgresHints:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, swap_id: UUID, transaction_hash: str, outgoing: Outgoing) -> bool:
        """Keep the hint and add the message; False when it was given before, or is too many."""
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
        :raises Unavailable: when Postgres is away.
        """
        values = {"app_id": app_id, "network": network, "transaction_hash": transaction_hash}
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(HAS_HINT, values))
