"""The signers of all lanes, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import Row, sql
from swap_settler.operator.decide.signer import Signer, SignerHalt, SignerResume
from swap_settler.records import Record, to_record

SIGNERS: Final = sql("""
SELECT signer.network, signer.address, next_nonce, halted_reason, halted_at,
       resumed_at, resumed_by, resumed_reason,
       count(slot.nonce) AS open_slots, min(slot.assigned_at) AS oldest_slot_at
FROM signer
LEFT JOIN nonce_slot AS slot ON (slot.network, slot.signer) = (signer.network, signer.address)
    AND slot.closed_at IS NULL
GROUP BY signer.network, signer.address ORDER BY signer.network, signer.address
""")
# A row for each payment of a nonce.
OPEN_NONCES: Final = sql("""
SELECT slot.nonce, slot.assigned_at AS since, (
    SELECT transaction_hash FROM attempt
    WHERE (network, signer, nonce) = (slot.network, slot.signer, slot.nonce)
    ORDER BY signed_at DESC LIMIT 1) AS transaction_hash,
    intent.id AS intent_id, intent.kind, intent.swap_id, slot.nonce AS after,
    coalesce(intent.id, CAST(:no_id AS uuid)) AS after_id
FROM nonce_slot AS slot
LEFT JOIN slot_intent USING (network, signer, nonce)
LEFT JOIN intent ON intent.id = slot_intent.intent_id
WHERE (slot.network, slot.signer) = (:network, :address) AND slot.closed_at IS NULL
    AND (slot.nonce, coalesce(slot_intent.intent_id, CAST(:no_id AS uuid)))
        > (CAST(:after AS bigint), CAST(:after_id AS uuid))
ORDER BY slot.nonce, coalesce(slot_intent.intent_id, CAST(:no_id AS uuid)) LIMIT :limit
""")
# Only the halt that was looked at: another one that came meanwhile stays.
RESUME: Final = sql("""
UPDATE signer SET halted_reason = NULL, halted_at = NULL,
    resumed_at = now(), resumed_by = :by, resumed_reason = :reason
FROM unnest(CAST(:network AS text[]), CAST(:address AS text[]), CAST(:halted_reason AS text[]))
     AS looked(network, address, halted_reason)
WHERE (signer.network, signer.address, signer.halted_reason)
    = (looked.network, looked.address, looked.halted_reason)
RETURNING signer.address
""")

NO_INTENT: Final = UUID(int=0)
NoncePlace = tuple[int, UUID]  # an open nonce, and one of its payments


class PostgresSigners:
    """The signers of all lanes, as an operator looks after them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_signers(self) -> Sequence[Signer]:
        return [_to_signer(row) for row in await read_alone(self._engine, SIGNERS)]

    async def open_nonces(
        self, network: str, address: str, *, after: NoncePlace | None, limit: int
    ) -> Sequence[Record]:
        """Return the open nonces of a signer, the lowest first: a row for each payment.

        :param after: only what follows this place.
        """
        nonce, id = after or (-1, NO_INTENT)
        values = {
            "network": network,
            "address": address,
            "no_id": NO_INTENT,
            "after": nonce,
            "after_id": id,
            "limit": limit,
        }
        return [to_record(row) for row in await read_alone(self._engine, OPEN_NONCES, values)]

    async def resume(self, halted: Sequence[Signer], *, by: str, reason: str) -> frozenset[str]:
        """Let signers go on that are halted still, for the reason they were listed with.

        Keep who did it and why, and return the addresses of those that go on.
        """
        looked = [
            {
                "network": signer.network,
                "address": signer.address,
                "halted_reason": signer.halted and signer.halted.reason,
            }
            for signer in halted
        ]
        values = {**columns(looked), "by": by, "reason": reason}
        async with transaction(self._engine) as connection:
            resumed = frozenset(await connection.scalars(RESUME, values))
            if resumed:
                await log_order(connection)
        return resumed


def _to_signer(row: Row) -> Signer:
    is_halted, was_resumed = row.halted_reason is not None, row.resumed_at is not None
    return Signer(
        network=row.network,
        address=row.address,
        next_nonce=row.next_nonce,
        open_slots=row.open_slots,
        oldest_slot_at=row.oldest_slot_at,
        halted=SignerHalt(row.halted_reason, row.halted_at) if is_halted else None,
        resumed=SignerResume(row.resumed_at, row.resumed_by, row.resumed_reason)
        if was_resumed
        else None,
    )
