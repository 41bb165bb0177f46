"""What is where it is for too long, on Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_domain.lifecycle import Status
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.clocks import stopped_or_silent, stopped_time
from swap_settler.model.store.holds import HELD
from swap_settler.model.store.statements import IS_PAID_EXTERNALLY, MAY_BE_OUT
from swap_settler.records import ListPlace, place_values
from swap_settler.settling.decide.dwelling import Silences, StuckSwap

_SWAPS_PAUSED: Final = stopped_or_silent(
    since="entered.at", networks="swap.source_network, swap.destination_network"
)
_INTENTS_PAUSED: Final = stopped_time(
    since="intent.created_at",
    networks="intent.network",
    halts="swap.source_network, swap.destination_network",
)
STUCK: Final = sql(f"""
SELECT id, source_network, status, since FROM (
SELECT id, source_network, status, entered.at AS since FROM swap
CROSS JOIN LATERAL (
    SELECT max(at) AS at FROM swap_transition
    WHERE swap_id = swap.id AND from_status IS DISTINCT FROM to_status) AS entered
WHERE status IN ('ls_transfer_pending', 'pending_refund') AND created_at < now() - :payment
    AND now() - entered.at - {_SWAPS_PAUSED} > :payment
UNION ALL
SELECT id, source_network, status, expires_at FROM swap
WHERE status = 'user_transfer_pending' AND source_network = ANY(CAST(:networks AS text[]))
    AND expires_at < now() - :deadline
) AS stuck
WHERE (since, id) > (coalesce(CAST(:after_at AS timestamptz), '-infinity'), CAST(:after_id AS uuid))
ORDER BY since, id LIMIT :limit
""")
# Not while a signer of its network is halted, nor for a payment's longest wait after that. The
# chain may have a payment that the ledger lacks, which only an operator can decide. Only of swaps
# that wait for it: a refund on a separate leg does not delay the swap's end.
UNSENT: Final = sql(f"""
SELECT swap.id AS swap_id, intent.id AS intent_id FROM (
    SELECT id, source_network, destination_network FROM swap
    WHERE status IN ('ls_transfer_pending', 'pending_refund') AND created_at < now() - :dwell
) AS swap
CROSS JOIN LATERAL (
    SELECT * FROM intent WHERE intent.swap_id = swap.id AND intent.deposit_id IS NULL
) AS intent
WHERE intent.kind IN ('output', 'refund') AND intent.state IN ('reserved', 'assigned')
    AND now() - intent.created_at - {_INTENTS_PAUSED} > :dwell
    AND NOT {MAY_BE_OUT}
    AND NOT EXISTS (SELECT FROM signer WHERE signer.network = intent.network
        AND (signer.halted_reason IS NOT NULL OR signer.resumed_at > now() - :dwell))
    AND NOT {IS_PAID_EXTERNALLY} AND NOT {HELD}
ORDER BY swap.id LIMIT :limit
""")
# The watcher's blocks are the only clock of a chain that all services can read.
BEGIN_SILENCE: Final = sql("""
INSERT INTO network_silence (network, began_at)
SELECT network, block_time FROM chain_watcher.progress
WHERE network = ANY(CAST(:networks AS text[])) AND block_time < now() - :silent_after
ON CONFLICT (network) WHERE ended_at IS NULL DO NOTHING
RETURNING network
""")
END_SILENCE: Final = sql("""
UPDATE network_silence SET ended_at = greatest(now(), began_at) FROM chain_watcher.progress
WHERE progress.network = network_silence.network AND ended_at IS NULL
    AND progress.block_time >= now() - :silent_after
RETURNING network_silence.network
""")
REPORT: Final = sql("""
INSERT INTO stuck_report (network, stuck, at)
SELECT network, stuck, now()
FROM unnest(CAST(:network AS text[]), CAST(:stuck AS int[])) AS new(network, stuck)
ORDER BY network
ON CONFLICT (network) DO UPDATE SET stuck = excluded.stuck, at = excluded.at
""")


class PostgresDwelling:
    """What is where it is for too long. Locks nothing."""

    def __init__(self, engine: Engine, *, networks: Sequence[str]) -> None:
        self._engine = engine
        self._networks = list(networks)

    async def find_stuck(
        self,
        bounds: Mapping[Status, timedelta],
        *,
        after: ListPlace | None = None,
        limit: int,
    ) -> Sequence[StuckSwap]:
        """Return the swaps beyond the bounds of their status, the longest first.

        :param after: only what follows this place.
        """
        values = {
            "payment": bounds[Status.PAYOUT_PENDING],
            "deadline": bounds[Status.DEPOSIT_PENDING],
            "networks": self._networks,
            **place_values(after),
            "limit": limit,
        }
        rows = await read_alone(self._engine, STUCK, values)
        return [
            StuckSwap(row.id, row.source_network, Status(row.status), row.since) for row in rows
        ]

    async def mark_silences(self, silent_after: timedelta) -> Silences:
        """Keep since when a network makes no blocks, and until when it made none."""
        values = {"networks": self._networks, "silent_after": silent_after}
        async with transaction(self._engine) as connection:
            ended = await connection.scalars(END_SILENCE, {"silent_after": silent_after})
            newly_silent = await connection.scalars(BEGIN_SILENCE, values)
        return Silences(frozenset(newly_silent), frozenset(ended))

    async def report(self, stuck: Mapping[str, int]) -> None:
        """Let others see how many there are, by source network; of one not named there is none."""
        values = {
            "network": self._networks,
            "stuck": [stuck.get(network, 0) for network in self._networks],
        }
        async with transaction(self._engine) as connection:
            await connection.execute(REPORT, values)

    async def find_unsent(self, dwell: timedelta, *, limit: int) -> Mapping[UUID, UUID]:
        """Return the payments (with their swaps) of main legs that wait longer than they may."""
        rows = await read_alone(self._engine, UNSENT, {"dwell": dwell, "limit": limit})
        return {row.intent_id: row.swap_id for row in rows}
