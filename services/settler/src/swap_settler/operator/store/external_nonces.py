"""Nonces of our signers that external transactions consumed, on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, read_alone, reading, transaction
from swap_runtime.postgres.sql import sql
from swap_settler.operator.decide.external_nonces import OpenNonce
from swap_settler.operator.decide.signer import Signer
from swap_settler.paying.store import lane_statements
from swap_settler.paying.store.lane_store import LaneName
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneWork

OPEN_BELOW: Final = sql("""
SELECT slot.nonce, signed.attempts, carried.mined, carried.paid_ids FROM nonce_slot AS slot
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(transaction_hash), '{}') AS attempts FROM attempt
    WHERE (attempt.network, attempt.signer, attempt.nonce)
        = (slot.network, slot.signer, slot.nonce)) AS signed
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE intent.state IN ('mined', 'confirmed')) AS mined,
        coalesce(array_agg(intent.paid_id) FILTER (WHERE intent.paid_id IS NOT NULL
            AND intent.state IN ('assigned', 'broadcast')), '{}') AS paid_ids
    FROM slot_intent JOIN intent ON intent.id = slot_intent.intent_id
    WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
        = (slot.network, slot.signer, slot.nonce)) AS carried
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND slot.nonce < :below
ORDER BY slot.nonce
""")
CONSUMED: Final = sql("""
SELECT nonce, transaction_hash FROM signer_transaction
WHERE (network, signer) = (:network, :signer) AND nonce = ANY(CAST(:nonces AS bigint[]))
""")
SIGNED_HERE: Final = sql("""
SELECT transaction_hash FROM attempt WHERE transaction_hash = ANY(CAST(:hashes AS text[]))
""")
LOCK_HALTED: Final = sql("""
SELECT next_nonce, halted_reason FROM signer WHERE (network, address) = (:network, :signer)
FOR UPDATE
""")
LOCK_SLOTS: Final = sql("""
SELECT nonce FROM nonce_slot
WHERE (network, signer) = (:network, :signer) AND nonce = ANY(CAST(:nonces AS bigint[]))
    AND closed_at IS NULL
ORDER BY nonce FOR UPDATE
""")
ADD_EXTERNAL_TRANSACTIONS: Final = sql("""
INSERT INTO foreign_transaction (
    network, signer, nonce, transaction_hash, lost_base_units, named_by, named_because)
SELECT :network, :signer, nonce, transaction_hash, lost_base_units, :by, :reason
FROM unnest(CAST(:nonce AS bigint[]), CAST(:transaction_hash AS text[]),
    CAST(:lost_base_units AS numeric[])) AS new(nonce, transaction_hash, lost_base_units)
""")


class PostgresExternalNonces:
    """What the ledger has of nonces that others may have used. Locks nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def is_network_halted(self, network: str) -> bool:
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(lane_statements.HALTED, {"network": network}))

    async def open_below(self, signer: Signer, nonce: int) -> Sequence[OpenNonce]:
        rows = await read_alone(
            self._engine, OPEN_BELOW, {**_signer_values(signer), "below": nonce}
        )
        return [
            OpenNonce(row.nonce, tuple(row.attempts), row.mined, tuple(map(int, row.paid_ids)))
            for row in rows
        ]

    async def find_consumed(self, signer: Signer, nonces: Collection[int]) -> Mapping[int, str]:
        """Return by which transactions nonces were consumed, of those that are closed."""
        rows = await read_alone(
            self._engine, CONSUMED, {**_signer_values(signer), "nonces": list(nonces)}
        )
        return {row.nonce: row.transaction_hash for row in rows}

    async def signed_here(self, transaction_hashes: Collection[str]) -> frozenset[str]:
        """Return those that were signed here."""
        async with reading(self._engine) as connection:
            return frozenset(
                await connection.scalars(SIGNED_HERE, {"hashes": list(transaction_hashes)})
            )

    async def balance(self, signer: Signer, native: str) -> int:
        """Return the signer's balance in the ledger."""
        async with reading(self._engine) as connection:
            values = {"network": signer.network, "address": signer.address, "token": native}
            return int(await connection.scalar(lane_statements.SIGNER_BALANCE, values) or 0)


class PostgresExternalNonceWork(PostgresLaneWork):
    """A transaction that closes nonces used by external transactions, of a halted signer."""

    async def lock_open(self, nonces: Collection[int]) -> bool:
        """Hold these nonces. False if one is closed. After the locks of swaps and intents."""
        values = {**self._lane.values, "nonces": list(nonces)}
        return len(await self._connection.scalars(LOCK_SLOTS, values)) == len(nonces)

    async def lock_halted(self, signer: Signer) -> bool:
        """Hold the signer. False if it is not halted as it was looked at. After all other locks."""
        found = (await self._connection.execute(LOCK_HALTED, _signer_values(signer))).one()
        looked = (signer.next_nonce, signer.halted and signer.halted.reason)
        return (found.next_nonce, found.halted_reason) == looked

    async def skip_nonces(self, signer: Signer, nonces: Collection[int]) -> None:
        """Have the next nonces handed out to nothing: the chain is past them."""
        execute, of = self._connection.execute, _signer_values(signer)
        await execute(lane_statements.TAKE_NONCES, {**of, "count": len(nonces)})
        await execute(lane_statements.ADD_SLOTS, {**of, "nonces": list(nonces)})

    async def add_external_transactions(
        self, named: Mapping[int, tuple[str, int]], *, by: str, reason: str
    ) -> None:
        """Store which operator named the transaction of each nonce, and its loss."""
        rows = [
            {"nonce": nonce, "transaction_hash": h, "lost_base_units": str(lost)}
            for nonce, (h, lost) in named.items()
        ]
        values = {**self._lane.values, **columns(rows), "by": by, "reason": reason}
        await self._connection.execute(ADD_EXTERNAL_TRANSACTIONS, values)
        await log_order(self._connection, is_final=False)  # the signers are still halted


class PostgresExternalNonceUnitOfWork:
    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    @asynccontextmanager
    async def __call__(self, signer: Signer) -> AsyncIterator[PostgresExternalNonceWork]:
        lane = LaneName(signer.network, signer.address)
        async with transaction(self._engine) as connection:
            yield PostgresExternalNonceWork(connection, consumer=self._consumer, lane=lane)


def _signer_values(signer: Signer) -> dict[str, object]:
    return {"network": signer.network, "signer": signer.address}
