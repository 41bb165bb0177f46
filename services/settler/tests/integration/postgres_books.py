"""The settler's books on Postgres, for the rows of `money_rows`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import count

from services.settler.tests.factories import ETHEREUM, SIGNER, USDC, swap_id
from services.settler.tests.integration.lanes import ASSIGN, SIGN
from services.settler.tests.money_rows import NUMBER
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import Intent, Leg, Swap

BALANCE = sql("""
SELECT coalesce(sum(-balance), 0) AS owed FROM account
WHERE (kind, network, token, swap_id) = (:kind, :network, :token, :swap_id)
    AND deposit_id IS NOT DISTINCT FROM :leg
""")
SUMS = sql("""
SELECT account.network, account.token, sum(posting.base_units) AS total
FROM posting JOIN account ON account.id = posting.account_id GROUP BY 1, 2
""")
SUSPENDED = sql("SELECT coalesce(sum(-balance), 0) FROM account WHERE kind = 'suspense'")
# The rows of a signer's lane when a final block shows that each slot of an intent reverted.
CONSUMED = (
    sql("""
INSERT INTO receipt (network, transaction_hash, block_hash, block_number, status, fee_base_units)
SELECT attempt.network, transaction_hash, '0x00', 1, 0, 0 FROM attempt
JOIN slot_intent USING (network, signer, nonce) WHERE intent_id = :id ON CONFLICT DO NOTHING"""),
    sql("""
INSERT INTO signer_transaction (network, signer, nonce, transaction_hash)
SELECT attempt.network, attempt.signer, attempt.nonce, transaction_hash FROM attempt
JOIN slot_intent USING (network, signer, nonce) WHERE intent_id = :id ON CONFLICT DO NOTHING"""),
    sql("""
UPDATE nonce_slot SET closed_at = now() FROM slot_intent AS carried
WHERE (nonce_slot.network, nonce_slot.signer, nonce_slot.nonce)
    = (carried.network, carried.signer, carried.nonce) AND carried.intent_id = :id"""),
)
WATCHED = sql("""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
                          checked_number, last_outbox_id)
VALUES (:network, 9, '0x1', '0x2', :time, 9, 0, 0, 0)
ON CONFLICT (network) DO UPDATE SET time = excluded.time
""")
ADDRESSES = sql("SELECT network, address FROM deposit_address")
COUNTED = sql("""
INSERT INTO deposit_target (network, address, since, position, looked_at, counted_number,
                            counted_time)
VALUES (:network, :address, :time, nextval('deposit_target_position'), :time, 9, :time)
ON CONFLICT (network, address) DO UPDATE SET counted_time = excluded.counted_time
""")
WAITED = sql("UPDATE requote_due SET since = since - CAST(:duration AS interval), due_at = now()")


class PostgresBooks:
    def __init__(self, engine: Engine, watcher: Engine, *, number: int = NUMBER) -> None:
        self._engine = engine
        self._watcher = watcher
        self._number = number
        self._nonces: defaultdict[str, Iterator[int]] = defaultdict(count)

    async def swap(self) -> Swap:
        async with PostgresUnitOfWork(self._engine, consumer="settler")() as work:
            return (await work.lock_swaps_by_id([swap_id(self._number)]))[swap_id(self._number)]

    async def balance(self, kind: AccountKind, leg: Leg) -> int:
        values = {
            "kind": kind.value,
            "network": ETHEREUM,
            "token": USDC[ETHEREUM],
            "swap_id": swap_id(self._number),
            "leg": leg,
        }
        async with self._engine.connect() as connection:
            return int(await connection.scalar(BALANCE, values) or 0)

    async def suspense(self) -> int:
        async with self._engine.connect() as connection:
            return int(await connection.scalar(SUSPENDED, {}) or 0)

    async def sums(self) -> Mapping[tuple[str, str], int]:
        async with self._engine.connect() as connection:
            rows = await connection.execute(SUMS, {})
        return {(row.network, row.token): int(row.total) for row in rows}

    async def sign(self, intent: Intent, transaction_hash: str) -> None:
        slot = {
            "network": intent.network,
            "signer": SIGNER,
            "nonce": next(self._nonces[intent.network]),
        }
        async with self._engine.begin() as connection:
            for statement in ASSIGN:
                values = {**slot, "id": intent.id}
                names = {name for name in values if f":{name}" in statement}
                await connection.execute(sql(statement), {name: values[name] for name in names})
            await connection.execute(sql(SIGN), {**slot, "hash": transaction_hash})

    async def close(self, intent: Intent) -> None:
        """Have other transactions consume the payment's nonces, so that it is dead."""
        async with self._engine.begin() as connection:
            for statement in CONSUMED:
                await connection.execute(statement, {"id": intent.id})

    async def advance_watcher(self, at: datetime) -> None:
        async with self._engine.connect() as reading:
            addresses = list(await reading.execute(ADDRESSES))
        async with self._watcher.begin() as connection:
            await connection.execute(WATCHED, {"network": ETHEREUM, "time": at})
            for row in addresses:
                place = {"network": row.network, "address": row.address}
                await connection.execute(COUNTED, {**place, "time": at})

    async def exceed_quoter_patience(self, duration: timedelta) -> None:
        async with self._engine.begin() as connection:
            await connection.execute(WAITED, {"duration": duration})
