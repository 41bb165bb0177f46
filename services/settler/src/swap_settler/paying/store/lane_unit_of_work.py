"""The settler's transaction, with what the sender lane writes in it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from swap_chains.events import Block
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, Transaction, transaction
from swap_runtime.postgres.leases import require_epoch
from swap_settler.model.store.unit_of_work import PostgresWork
from swap_settler.paying.decide.slots import ClosedSlot, Owners, Snapshot
from swap_settler.paying.store import lane_statements as statements
from swap_settler.paying.store.lane_store import LaneName
from swap_settler.paying.store.lane_sweeps import CLOSE_SWEEPS


class PostgresLaneWork(PostgresWork):
    """A settler's transaction that also writes what the lane owns."""

    def __init__(self, connection: Transaction, *, consumer: str, lane: LaneName) -> None:
        super().__init__(connection, consumer)
        self._lane = lane

    async def intents_of(self, transaction_hashes: Collection[str]) -> Owners:
        """Return the intents that wait for these transactions to be sent."""
        values = {"hashes": list(transaction_hashes)}
        rows = await self._connection.execute(statements.INTENTS_OF, values)
        return {row.id: row.swap_id for row in rows}

    async def mark_attempts_sent(self, sent_ago: Mapping[str, timedelta]) -> None:
        """Keep when nodes had these transactions, by hash: so long ago."""
        values = {"hash": list(sent_ago), "sent_ago": list(sent_ago.values())}
        self._connection.post(statements.MARK_SENT, values)

    async def intents_on(self, nonces: Collection[int]) -> Owners:
        """Return the unpaid intents on these slots of this lane's signer."""
        if not nonces:
            return {}
        values = {**self._lane.values, "nonces": list(nonces)}
        rows = await self._connection.execute(statements.INTENTS_ON, values)
        return {row.id: row.swap_id for row in rows}

    async def require_epoch(self, epoch: int) -> None:
        """
        :raises LeaseLost: when another lane has taken over.
        """
        await require_epoch(self._connection, self._lane.lease, epoch)

    async def failures_of_unsent(self, intent_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return how often each failed, of those that wait and that nothing signed can pay."""
        values = {"ids": list(intent_ids)}
        rows = await self._connection.execute(statements.UNSENT_FAILURES, values)
        return {row.id: row.failures for row in rows}

    async def failures_of_unsigned(self, intent_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return the same also of those that have a nonce and no bytes yet."""
        values = {"ids": list(intent_ids)}
        rows = await self._connection.execute(statements.UNSIGNED_FAILURES, values)
        return {row.id: row.failures for row in rows}

    async def failures_of_dead(self, intent_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return how often each failed, of those with a slot that was just proven dead."""
        values = {"ids": list(intent_ids)}
        rows = await self._connection.execute(statements.DEAD_FAILURES, values)
        return {row.id: row.failures for row in rows}

    async def count_reverts(
        self, nonces: Collection[int], *, besides: Collection[UUID]
    ) -> Mapping[UUID, int]:
        """Count reverts of payments that were alone on these nonces; return their numbers now."""
        values = {**self._lane.values, "nonces": list(nonces), "besides": list(besides)}
        rows = await self._connection.execute(statements.COUNT_REVERTS, values)
        return {row.id: row.reverts for row in rows}

    async def postpone(
        self, failures: Mapping[UUID, int], pauses: Mapping[UUID, timedelta]
    ) -> None:
        """Let payments wait for their retry, in a separate slot."""
        rows = [
            {"id": id, "failures": failed, "pause": pauses[id]} for id, failed in failures.items()
        ]
        self._connection.post(statements.POSTPONE, columns(rows))
        self._freed += failures

    async def close_slots(self, closed: Sequence[ClosedSlot], final: Block) -> None:
        """Keep what consumed each nonce, seen at a final block: the proof of what died with it.

        Before the flush of what follows from it, which keeps the proof with the intents.
        """
        rows = [
            {
                "nonce": slot.nonce,
                "transaction_hash": slot.transaction_hash,
                "block_hash": slot.receipt.block.hash,
                "block_number": slot.receipt.block.number,
                "status": int(slot.receipt.succeeded),
                "fee_base_units": str(slot.receipt.fee_base_units),
                "witnesses": slot.quorum and json.dumps(asdict(slot.quorum)),
            }
            for slot in closed
        ]
        arrays = columns(rows)
        nonces, quorums = arrays.pop("nonce"), arrays.pop("witnesses")
        lane, post = self._lane.values, self._connection.post
        post(statements.ADD_RECEIPTS, {"network": self._lane.network, **arrays})
        sent = {"nonce": nonces, "transaction_hash": arrays["transaction_hash"]}
        post(statements.ADD_SIGNER_TRANSACTIONS, {**lane, **sent})
        seen = {"final_number": final.number, "final_hash": final.hash, "witnesses": quorums}
        post(statements.CLOSE_SLOTS, {**lane, "nonces": nonces, **seen})
        ended = {
            **sent,
            "block_number": arrays["block_number"],
            "block_hash": arrays["block_hash"],
            "succeeded": [not slot.paid_nothing for slot in closed],
        }
        post(CLOSE_SWEEPS, {**lane, **ended})

    async def close_forgotten(self, nonces: Collection[int], final: Block) -> None:
        """Close nonces that carry nothing and were consumed by what a restored ledger forgot."""
        unseen = [None] * len(nonces)  # witnesses
        seen = {"final_number": final.number, "final_hash": final.hash, "witnesses": unseen}
        values = {**self._lane.values, "nonces": sorted(nonces), **seen}
        self._connection.post(statements.CLOSE_SLOTS, values)

    async def add_snapshots(self, snapshots: Sequence[Snapshot], block: Block) -> None:
        rows = [
            {"address": s.address, "token": s.token, "balance": str(s.base_units)}
            for s in snapshots
        ]
        values = {
            "network": self._lane.network,
            "block_number": block.number,
            "block_hash": block.hash,
            **columns(rows),
        }
        self._connection.post(statements.ADD_SNAPSHOTS, values)
        oldest = block.number - statements.SNAPSHOTS_KEPT
        limit = {"network": self._lane.network, "block_number": oldest}
        self._connection.post(statements.DROP_SNAPSHOTS, limit)


class PostgresLaneUnitOfWork:
    def __init__(self, engine: Engine, *, consumer: str, lane: LaneName) -> None:
        self._engine = engine
        self._consumer = consumer
        self._lane = lane

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[PostgresLaneWork]:
        async with transaction(self._engine) as connection:
            yield PostgresLaneWork(connection, consumer=self._consumer, lane=self._lane)
