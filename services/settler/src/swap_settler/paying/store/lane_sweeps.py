"""The sweeps that a lane puts on nonces, on Postgres. Arrays in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import Final

from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.leases import require_epoch
from swap_runtime.postgres.sql import sql
from swap_settler.paying.decide.lane import Payment, Slot
from swap_settler.paying.store import lane_statements
from swap_settler.paying.store.lane_statements import CARRIED, IS_UNSIGNED, PAYMENT, STOPPED
from swap_settler.paying.store.lane_store import LaneName, hand_out, to_payment_or_sweep

WAITING: Final = sql(f"""
SELECT {PAYMENT}, sweep.sequence_number AS sweep_of
FROM intent JOIN sweep ON sweep.intent_id = intent.id
WHERE intent.network = :network AND intent.state = 'reserved' AND intent.due_at <= now()
    AND NOT {STOPPED}
ORDER BY intent.due_at, intent.id LIMIT :limit
""")
# A crash between the slot and its signed bytes leaves these; the same slot is used again.
UNSIGNED_SLOTS: Final = sql(f"""
SELECT slot.nonce, {PAYMENT}, sweep.sequence_number AS sweep_of
FROM nonce_slot AS slot {CARRIED}
JOIN intent ON intent.id = carried.intent_id AND intent.state = 'assigned'
JOIN sweep ON sweep.intent_id = intent.id
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND {IS_UNSIGNED} AND NOT {STOPPED}
ORDER BY slot.nonce, intent.id
""")
# Nothing is lost that is not swept: it is tried again, ever more rarely, and for ever.
POSTPONE: Final = sql("""
UPDATE intent SET failures = failures + 1, goes_alone = true,
    due_at = now() + :pause * (1 << least(failures, 10))
WHERE id = ANY(CAST(:ids AS uuid[])) AND kind = 'sweep' AND state = 'reserved'
""")
# A slot that did what it is for has swept all of its addresses, or found nothing there any more.
CLOSE_SWEEPS: Final = sql("""
UPDATE intent SET
    state = CASE WHEN closed.succeeded THEN 'mined' ELSE 'reserved' END,
    slot_at = CASE WHEN closed.succeeded THEN slot_at END,
    transaction_hash = CASE WHEN closed.succeeded THEN closed.transaction_hash END,
    block_number = CASE WHEN closed.succeeded THEN closed.block_number END,
    block_hash = CASE WHEN closed.succeeded THEN closed.block_hash END,
    failures = failures + CASE WHEN closed.succeeded THEN 0 ELSE 1 END,
    goes_alone = goes_alone OR NOT closed.succeeded,
    due_at = CASE WHEN closed.succeeded THEN due_at
        ELSE now() + interval '2 seconds' * (1 << least(failures, 10)) END
FROM unnest(CAST(:nonce AS bigint[]), CAST(:transaction_hash AS text[]),
        CAST(:block_number AS bigint[]), CAST(:block_hash AS text[]),
        CAST(:succeeded AS boolean[]))
    AS closed(nonce, transaction_hash, block_number, block_hash, succeeded)
-- Each slot asks for its own: joined, all that the signer ever carried might be read.
CROSS JOIN LATERAL (
    SELECT intent_id FROM slot_intent WHERE (slot_intent.network, slot_intent.signer,
        slot_intent.nonce) = (:network, :signer, closed.nonce)) AS carried
WHERE intent.id = carried.intent_id AND intent.kind = 'sweep'
    AND intent.state IN ('assigned', 'broadcast', 'mined')
""")


class PostgresLaneSweeps:
    """What one lane keeps of sweeps. Each method is one transaction."""

    def __init__(self, engine: Engine, lane: LaneName) -> None:
        self._engine = engine
        self._lane = lane

    async def waiting(self, *, limit: int) -> Sequence[Payment]:
        """Return the sweeps that are due, the longest waiting first."""
        values = {"network": self._lane.network, "limit": limit}
        rows = await read_alone(self._engine, WAITING, values)
        return [to_payment_or_sweep(row) for row in rows]

    async def assign(self, sweeps: Sequence[Payment], *, epoch: int) -> Sequence[Slot]:
        """Hand out one nonce for all of them; nothing for a signer that is halted.

        :raises LeaseLost: when another lane has taken over.
        """
        async with transaction(self._engine) as connection:
            locked, [signer] = await require_epoch(
                connection,
                self._lane.lease,
                epoch,
                (lane_statements.LOCK_INTENTS, {"ids": [sweep.intent_id for sweep in sweeps]}),
                (lane_statements.LOCK_SIGNER, self._lane.values),
            )
            free = {row.id for row in locked}
            if not signer.may_sign or not free:
                return ()
            assigned = tuple(sweep for sweep in sweeps if sweep.intent_id in free)
            slot = Slot(signer.next_nonce, assigned)
            hand_out(connection, self._lane, {slot.nonce: [one.intent_id for one in assigned]})
        return [slot]

    async def find_unsigned_slots(self) -> Sequence[Slot]:
        """Return the slots of sweeps that nothing was signed for."""
        rows = await read_alone(self._engine, UNSIGNED_SLOTS, self._lane.values)
        return [
            Slot(nonce, tuple(to_payment_or_sweep(row) for row in of_slot))
            for nonce, of_slot in groupby(rows, key=lambda row: int(row.nonce))
        ]

    async def postpone(self, intent_ids: Sequence[object], *, pause: timedelta) -> None:
        """Let sweeps wait that failed, each time longer."""
        async with transaction(self._engine) as connection:
            values = {"ids": list(intent_ids), "pause": pause}
            await connection.execute(POSTPONE, values)
