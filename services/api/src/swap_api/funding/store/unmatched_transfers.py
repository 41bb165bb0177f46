"""Transfers that name no swap, from the settler's views; which of them were signed for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_api.funding.decide.attaching import UnmatchedTransfer
from swap_chains.evm.codec import checksum_address
from swap_domain.attaching import SwapAddresses
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import sql

PER_SWAP_MAX: Final = 10
AGAIN_AFTER: Final = timedelta(minutes=1)
# Several may come in one transaction; more than these do not pay for one swap.
PER_TRANSACTION_MAX: Final = 100
DESTINED: Final = sql("""
SELECT source_network, destination_network, destination_address, refund_address
FROM swap WHERE id = :id
""")
OF_TRANSACTION: Final = sql("""
SELECT transfer.deposit_id, transfer.network, transaction_hash, transfer.token, base_units,
       from_address, to_address, transfer.swap_id, is_free,
       EXISTS (SELECT FROM deposit_attachment AS said
         WHERE (said.swap_id, said.deposit_id) = (:swap_id, transfer.deposit_id)) AS is_submitted,
       coalesce((SELECT source.source_token FROM settler.swap_source AS source
         WHERE source.swap_id = :swap_id) = transfer.token, true) AS is_source_token
FROM settler.lone_transfer AS transfer
WHERE transaction_hash = :transaction_hash AND transfer.network = :network
ORDER BY transfer.deposit_id LIMIT :most
""")
# The swap's row is locked, so messages of one swap are published in commit order.
LOCK_SWAP: Final = sql("SELECT id FROM swap WHERE id = :swap_id FOR UPDATE")
COUNT: Final = sql("""
SELECT count(*) AS others FROM deposit_attachment
WHERE swap_id = :swap_id AND deposit_id <> :deposit_id
""")
SUBMIT: Final = sql("""
INSERT INTO deposit_attachment AS known (swap_id, deposit_id, submission, submitted_at)
VALUES (:swap_id, :deposit_id, 1, :now)
ON CONFLICT (swap_id, deposit_id) DO UPDATE SET
    submission = known.submission + 1, submitted_at = excluded.submitted_at
WHERE known.submitted_at < :again_before
RETURNING submission
""")


class PostgresUnmatchedTransfers:
    """What came without the name of a swap, as the settler publishes it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find_addresses(self, swap_id: UUID) -> SwapAddresses | None:
        row = (await read_alone(self._engine, DESTINED, {"id": swap_id})).one_or_none()
        if row is None:
            return None
        refund = row.refund_address
        return SwapAddresses(
            swap_id,
            source_network=row.source_network,
            destination_network=row.destination_network,
            destination_address=checksum_address(row.destination_address),
            refund_address=None if refund is None else checksum_address(refund),
        )

    async def of_transaction(
        self, swap_id: UUID, network: str, transaction_hash: str
    ) -> Sequence[UnmatchedTransfer]:
        values = {
            "swap_id": swap_id,
            "network": network,
            "transaction_hash": transaction_hash,
            "most": PER_TRANSACTION_MAX,
        }
        rows = await read_alone(self._engine, OF_TRANSACTION, values)
        found = [row._asdict() for row in rows]
        return [UnmatchedTransfer(**{**row, "base_units": int(row["base_units"])}) for row in found]

    async def submit(
        self,
        swap_id: UUID,
        deposit_id: UUID,
        message: Callable[[int], Outgoing],
        *,
        now: datetime,
    ) -> bool:
        """Take a signature with its message, all or nothing; False when there are too many.

        A transfer that was just submitted is not published again, and that is no refusal.

        :param message: makes it, given how often this was submitted.
        """
        values = {"swap_id": swap_id, "deposit_id": deposit_id}
        async with transaction(self._engine) as connection:
            connection.post(LOCK_SWAP, {"swap_id": swap_id})
            others = await connection.scalar(COUNT, values)
            if others >= PER_SWAP_MAX:
                return False
            parameters = {**values, "now": now, "again_before": now - AGAIN_AFTER}
            row = (await connection.execute(SUBMIT, parameters)).one_or_none()
            if row is not None:
                add_to_outbox(connection, [message(row.submission)])
        return True
