"""Withdrawals by the Treasury's owner, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, Transaction, reading
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.rows import fields_of
from swap_settler.model.store.table_columns import Columns, new_values
from swap_settler.model.treasury import Withdrawal

WITHDRAWAL_COLUMNS: Final = Columns("""
    id uuid, version int, state text, network text, token text, treasury text, to_address text,
    base_units numeric, transaction_hash text, block_number bigint, block_hash text,
    block_time timestamptz""")
SAVE: Final = sql(f"""
{WITHDRAWAL_COLUMNS.insert_into("withdrawal AS known")}
ON CONFLICT (id) DO UPDATE SET {new_values("version, state, block_number, block_hash, block_time")}
-- A confirmed withdrawal is final: no later version reverts it, so nothing un-books it.
WHERE known.version < excluded.version
""")
UNBOOKED: Final = sql(f"""
SELECT {WITHDRAWAL_COLUMNS.names} FROM withdrawal WHERE state = 'confirmed' AND NOT is_booked
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
        rows = [WITHDRAWAL_COLUMNS.row(one) for one in newest.values()]
        self._connection.post(SAVE, columns(rows))

    async def lock_unbooked_withdrawals(self, *, limit: int) -> Sequence[Withdrawal]:
        rows = await self._connection.execute(UNBOOKED, {"limit": limit})
        return [Withdrawal(**fields_of(row, "base_units")) for row in rows]

    async def mark_withdrawals_booked(self, ids: Sequence[UUID]) -> None:
        self._connection.post(MARK_BOOKED, {"ids": list(ids)})


class PostgresWithdrawals:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def has_unbooked(self) -> bool:
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(HAS_UNBOOKED))
