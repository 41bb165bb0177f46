"""Withdrawals by the Treasury's owner, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final
from uuid import UUID

from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, Transaction, reading
from swap_runtime.postgres.sql import sql
from swap_settler.model.treasury import Withdrawal

SAVE: Final = sql("""
INSERT INTO withdrawal AS known (id, version, state, network, token, treasury, to_address,
    base_units, transaction_hash, block_number, block_hash, block_time)
SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:version AS int[]), CAST(:state AS text[]),
    CAST(:network AS text[]), CAST(:token AS text[]), CAST(:treasury AS text[]),
    CAST(:to_address AS text[]), CAST(:base_units AS numeric[]),
    CAST(:transaction_hash AS text[]), CAST(:block_number AS bigint[]),
    CAST(:block_hash AS text[]), CAST(:block_time AS timestamptz[]))
ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state,
    block_number = excluded.block_number, block_hash = excluded.block_hash,
    block_time = excluded.block_time
-- A confirmed withdrawal is final: no later version reverts it, so nothing un-books it.
WHERE known.version < excluded.version
""")
UNBOOKED: Final = sql("""
SELECT id, version, state, network, token, treasury, to_address, base_units, transaction_hash,
       block_number, block_hash, block_time
FROM withdrawal WHERE state = 'confirmed' AND NOT is_booked
ORDER BY network, block_number, id LIMIT :limit FOR UPDATE SKIP LOCKED
""")
HAS_UNBOOKED: Final = sql("""
SELECT EXISTS (SELECT 1 FROM withdrawal WHERE state = 'confirmed' AND NOT is_booked)
""")
MARK_BOOKED: Final = sql("""
UPDATE withdrawal SET is_booked = true WHERE id = ANY(CAST(:ids AS uuid[]))
""")


class PostgresWithdrawalWork:
    """Mixin of PostgresWork, which sets `_connection`: statements about withdrawals."""

    _connection: Transaction

    async def save_withdrawals(self, withdrawals: Sequence[Withdrawal]) -> None:
        newest = {one.id: one for one in sorted(withdrawals, key=lambda one: one.version)}
        # numeric[] takes amounts as text: they exceed 64 bits.
        rows = [{**asdict(one), "base_units": str(one.base_units)} for one in newest.values()]
        self._connection.post(SAVE, columns(rows))

    async def lock_unbooked_withdrawals(self, *, limit: int) -> Sequence[Withdrawal]:
        rows = await self._connection.execute(UNBOOKED, {"limit": limit})
        return [Withdrawal(**{**row._asdict(), "base_units": int(row.base_units)}) for row in rows]

    async def mark_withdrawals_booked(self, ids: Sequence[UUID]) -> None:
        self._connection.post(MARK_BOOKED, {"ids": list(ids)})


class PostgresWithdrawals:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def has_unbooked(self) -> bool:
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(HAS_UNBOOKED))
