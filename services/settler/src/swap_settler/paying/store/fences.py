"""The nonces of a signer that forgotten transactions may have, on Postgres."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from swap_chains.events import Block
from swap_runtime.postgres.database import Engine, read_alone, reading, transaction
from swap_runtime.postgres.leases import require_epoch
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.holds import LAST_FORGOTTEN
from swap_settler.paying.store import lane_statements
from swap_settler.paying.store.lane_store import LaneName

# Not while the database is another one than was registered, nor for a signer that is halted.
UNFENCED: Final = sql(f"""
SELECT hold.recovery_id, forgotten.nonce + 1 + fence.beyond AS end_nonce
FROM recovery_hold AS hold
JOIN signer ON (signer.network, signer.address) = (:network, :signer)
LEFT JOIN recovery_fence AS fence
    ON (fence.recovery_id, fence.network, fence.signer) = (hold.recovery_id, :network, :signer)
LEFT JOIN LATERAL ({LAST_FORGOTTEN}) AS forgotten ON true
WHERE hold.before IS NOT NULL AND hold.recovery_id IS NOT NULL AND signer.halted_reason IS NULL
    AND (fence.end_nonce IS NULL OR fence.end_nonce < forgotten.nonce + 1 + fence.beyond)
""")
AWAITED: Final = sql("""
SELECT hold.before IS NOT NULL AS is_known,
       hold.recovery_id IS NOT NULL AND NOT EXISTS (SELECT FROM recovery_fence AS fence
           WHERE (fence.recovery_id, fence.network, fence.signer)
               = (hold.recovery_id, :network, :signer)) AS is_awaited
FROM recovery_hold AS hold
""")
# A slot without bytes may have been signed in the forgotten time: it is fenced, too.
LOCK: Final = sql(f"""
SELECT next_nonce, halted_reason IS NOT NULL AS is_halted,
       coalesce((SELECT min(slot.nonce) FROM nonce_slot AS slot
           WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
               AND {lane_statements.IS_UNSIGNED}), next_nonce) AS lowest_unsigned
FROM signer
WHERE (network, address) = (:network, :signer) FOR UPDATE
""")
# What consumed them is not known, and paid nothing that is not in the Treasury's logs.
ADD_CONSUMED: Final = sql("""
INSERT INTO nonce_slot (network, signer, nonce, assigned_at, closed_at, final_number, final_hash)
SELECT :network, :signer, nonce, now(), now(), :final_number, :final_hash
FROM generate_series(CAST(:first AS bigint), CAST(:end AS bigint) - 1) AS passed(nonce)
""")
KEEP: Final = sql("""
INSERT INTO recovery_fence (recovery_id, network, signer, first_nonce, end_nonce, beyond)
VALUES (:recovery_id, :network, :signer, :first_nonce, :end_nonce, :beyond)
ON CONFLICT (recovery_id, network, signer) DO UPDATE SET end_nonce = excluded.end_nonce
""")
# Also of a recovery that an operator has ended: nothing is signed for them but no-ops.
FENCED: Final = sql("""
SELECT wanted.nonce FROM unnest(CAST(:nonces AS bigint[])) AS wanted(nonce)
WHERE EXISTS (SELECT FROM recovery_fence AS fence
        WHERE (fence.network, fence.signer) = (:network, :signer)
            AND wanted.nonce >= fence.first_nonce AND wanted.nonce < fence.end_nonce)
    AND NOT EXISTS (SELECT FROM slot_intent AS carried
        WHERE (carried.network, carried.signer, carried.nonce)
            = (:network, :signer, wanted.nonce))
""")
RECOVERING: Final = sql("SELECT EXISTS (SELECT FROM recovery WHERE ended_at IS NULL)")


@dataclass(frozen=True, slots=True)
class UnfencedSigner:
    """A signer with forgotten transactions that may still be mined."""

    recovery_id: int
    end_nonce: int | None  # up to where its nonces must be consumed; None: read it from the chain


@dataclass(frozen=True, slots=True)
class Fence:
    """Which nonces are handed out to nothing: from the ledger's next one on."""

    recovery_id: int
    final_nonce: int  # those below it are consumed in a final block
    final: Block
    end_nonce: int
    beyond: int


class PostgresFences:
    """The nonces of one lane's signer that forgotten transactions may have."""

    def __init__(self, engine: Engine, lane: LaneName) -> None:
        self._engine = engine
        self._lane = lane

    async def find_unfenced(self) -> UnfencedSigner | None:
        """Return what is to be fenced, or fenced further; None also while the signer is halted."""
        row = (await read_alone(self._engine, UNFENCED, self._lane.values)).one_or_none()
        return row and UnfencedSigner(row.recovery_id, row.end_nonce)

    async def awaits_fence(self) -> bool | None:
        """Whether the chain may be ahead of the ledger; None until the database is known."""
        row = (await read_alone(self._engine, AWAITED, self._lane.values)).one_or_none()
        if row is None:
            return False
        return bool(row.is_awaited) if row.is_known else None

    async def set(self, fence: Fence, *, epoch: int) -> int:
        """Keep it, and return how many nonces need a no-op.

        :raises LeaseLost: when another lane has taken over.
        """
        of = self._lane.values
        async with transaction(self._engine) as connection:
            [[signer]] = await require_epoch(connection, self._lane.lease, epoch, (LOCK, of))
            if signer.is_halted:
                return 0
            first, end = signer.next_nonce, max(signer.next_nonce, fence.end_nonce)
            open_from = min(max(first, fence.final_nonce), end)
            place = {"final_number": fence.final.number, "final_hash": fence.final.hash}
            connection.post(ADD_CONSUMED, {**of, **place, "first": first, "end": open_from})
            nonces = list(range(open_from, end))
            connection.post(lane_statements.ADD_SLOTS, {**of, "nonces": nonces})
            connection.post(lane_statements.TAKE_NONCES, {**of, "count": end - first})
            # Newer payments may be beyond the end already: then none of the new nonces is fenced.
            fenced_from = min(first, fence.end_nonce, signer.lowest_unsigned)
            fence_row = {
                "first_nonce": fenced_from,
                "end_nonce": fence.end_nonce,
                "beyond": fence.beyond,
            }
            connection.post(KEEP, {**of, **fence_row, "recovery_id": fence.recovery_id})
        return len(nonces)

    async def find_fenced(self, nonces: Collection[int]) -> frozenset[int]:
        """Return those of these nonces that were handed out to nothing."""
        async with reading(self._engine) as connection:
            values = {**self._lane.values, "nonces": list(nonces)}
            return frozenset(await connection.scalars(FENCED, values))

    async def is_recovering(self) -> bool:
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(RECOVERING))
