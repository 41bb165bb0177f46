"""The caps on what may leave, and the lines before them, as an operator looks after them.

Units are base units of the cap's token; of a cap without a token, millionths of a dollar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.models import names_of
from swap_runtime.postgres.sql import Row, sql
from swap_settler.model.store.channels import lane_channel
from swap_settler.model.store.order_changes import change_by_order
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.store.models import CapFacts, OutflowCapTable
from swap_settler.paying.decide.caps import CapState
from swap_settler.records import ListPlace, Record, place_values, to_dataclass

QueuePlace = tuple[datetime, int]  # the longest waiting first


def _in_span(cap: str) -> str:
    """Return SQL: whether a row counts under a cap now, of what is counted in slices of its span.

    The same for the sums of the slices and for the payments in them.
    """
    return f"cap_id = {cap}.id AND until > now() - {cap}.span"


_CAPS: Final = f"""
SELECT outflow_cap.id, {names_of(CapFacts, OutflowCapTable)}, used.spent, line.waiting
FROM outflow_cap
CROSS JOIN LATERAL (SELECT coalesce(sum(spent), 0) AS spent FROM outflow_spent
    WHERE {_in_span("outflow_cap")}) AS used
CROSS JOIN LATERAL (SELECT count(*) AS waiting FROM outflow_queue
    WHERE cap_id = outflow_cap.id) AS line
WHERE outflow_cap.units IS NOT NULL
"""
CAPS: Final = sql(f"""
{_CAPS} ORDER BY outflow_cap.network, outflow_cap.token NULLS FIRST, outflow_cap.app_id NULLS FIRST
""")
# The sum and its payments are of one moment, so they are read by one statement. A row without a
# payment: none is on this page.
COUNTED: Final = sql(f"""
SELECT cap.*, counted.intent_id, counted.until, counted.until + cap.span AS counts_until,
       counted.amount, intent.kind, intent.network AS paid_network, intent.token AS paid_token,
       intent.base_units, intent.state, intent.swap_id, intent.deposit_id,
       intent.app_id AS owner_app_id, coalesce(intent.transaction_hash, (
           SELECT attempt.transaction_hash FROM slot_intent
           JOIN nonce_slot USING (network, signer, nonce)
           JOIN attempt USING (network, signer, nonce)
           WHERE slot_intent.intent_id = intent.id
               AND nonce_slot.closed_at IS NULL AND NOT attempt.is_cancel
           ORDER BY attempt.signed_at DESC LIMIT 1
       )) AS transaction_hash
FROM ({_CAPS} AND outflow_cap.id = :id) AS cap
LEFT JOIN LATERAL (SELECT intent_id, until, amount FROM outflow_counted
    WHERE {_in_span("cap")} AND (until, intent_id) < (
        coalesce(CAST(:after_at AS timestamptz), 'infinity'), CAST(:after_id AS uuid))
    ORDER BY until DESC, intent_id DESC LIMIT :limit) AS counted ON true
LEFT JOIN intent ON intent.id = counted.intent_id
ORDER BY counted.until DESC, counted.intent_id DESC
""")
# Unless it may be raised: not above at once, and not above over time (`CapLimit.is_above`).
SET: Final = sql("""
INSERT INTO outflow_cap AS known (network, token, app_id, units, span, set_by, set_because)
VALUES (:network, :token, :app_id, :units, :span, :by, :reason)
ON CONFLICT (network, token, app_id) DO UPDATE SET units = excluded.units, span = excluded.span,
    set_at = now(), set_by = excluded.set_by, set_because = excluded.set_because
WHERE (CAST(:may_raise AS boolean) OR known.units IS NULL
    OR excluded.units <= known.units AND excluded.units * extract(epoch FROM known.span)
        <= known.units * extract(epoch FROM excluded.span))
    AND known.set_at = coalesce(CAST(:set_at AS timestamptz), known.set_at)
""")
LIFT: Final = sql("""
UPDATE outflow_cap SET units = NULL, set_at = now(), set_by = :by, set_because = :reason
WHERE network = :network AND token IS NOT DISTINCT FROM :token
    AND app_id IS NOT DISTINCT FROM CAST(:app_id AS uuid) AND units IS NOT NULL
    AND set_at = coalesce(CAST(:set_at AS timestamptz), set_at)
""")
# What was taken back, or left by another way, stands in no line any more.
DELETE_ENDED_QUEUE: Final = sql("""
DELETE FROM outflow_queue USING intent
WHERE outflow_queue.network = ANY(CAST(:networks AS text[]))
    AND intent.id = outflow_queue.intent_id AND intent.state <> 'reserved'
""")
_WAITING: Final = """
SELECT queued.id AS place,
       queued.intent_id, intent.swap_id, intent.kind, intent.network, intent.token,
       intent.base_units, queued.amount, queued.since, queued.cap_id,
       cap.token AS cap_token, cap.app_id AS cap_app_id, cap.units AS cap_units,
       EXISTS (SELECT FROM outflow_pass
           WHERE outflow_pass.intent_id = queued.intent_id) AS is_let_through
FROM outflow_queue AS queued
JOIN intent ON intent.id = queued.intent_id AND intent.state = 'reserved'
LEFT JOIN outflow_cap AS cap ON cap.id = queued.cap_id
WHERE queued.network = ANY(CAST(:networks AS text[]))
"""
WAITING: Final = sql(f"""
{_WAITING} AND (queued.since, queued.id) > (
    coalesce(CAST(:after_at AS timestamptz), '-infinity'), CAST(:after_id AS bigint))
ORDER BY queued.since, queued.id LIMIT :limit
""")
# A payment is in the queue of each cap that holds it: one of these rows is shown.
FIND_WAITING: Final = sql(f"""
{_WAITING} AND queued.intent_id = :intent_id ORDER BY queued.since, queued.id LIMIT 1
""")
QUEUES: Final = sql("""
SELECT queued.network, count(DISTINCT queued.intent_id) AS waiting,
       extract(epoch FROM now() - min(queued.since)) AS seconds
FROM outflow_queue AS queued
JOIN intent ON intent.id = queued.intent_id AND intent.state = 'reserved'
WHERE queued.network = ANY(CAST(:networks AS text[]))
GROUP BY queued.network
""")
GRANT_PASS: Final = sql("""
INSERT INTO outflow_pass (intent_id, network, passed_by, passed_because)
SELECT intent.id, intent.network, :by, :reason FROM intent
WHERE intent.id = :intent_id AND state = 'reserved'
    AND EXISTS (SELECT FROM outflow_queue WHERE intent_id = intent.id AND cap_id IS NOT NULL)
ON CONFLICT DO NOTHING RETURNING network
""")


class PostgresCaps:
    """How much may leave in a while, and what waits for it."""

    def __init__(self, engine: Engine, *, networks: Sequence[str]) -> None:
        self._engine = engine
        self._networks = list(networks)

    async def list_caps(self) -> Sequence[CapState]:
        return [to_dataclass(CapState, row) for row in await read_alone(self._engine, CAPS)]

    async def list_counted(
        self, id: int, *, after: ListPlace | None, limit: int
    ) -> tuple[CapState, Sequence[Record]] | None:
        """Return a cap with the payments that its spent amount is made of, the newest first.

        None where it was lifted.

        :param after: only what follows this place: the end of a slice, and a payment.
        """
        values = {"id": id, **place_values(after), "limit": limit}
        rows = await read_alone(self._engine, COUNTED, values)
        payments = [_counted_payment(row) for row in rows if row.intent_id is not None]
        return (to_dataclass(CapState, rows[0]), payments) if rows else None

    async def set_cap(
        self,
        name: CapName,
        *,
        limit: CapLimit,
        may_raise: bool,
        set_at: datetime | None,
        by: str,
        reason: str,
    ) -> bool:
        """False if it would be raised and may not, or the present cap was not set at `set_at`."""
        values = {
            **asdict(name),
            "units": str(limit.units),
            "span": limit.span,
            "may_raise": may_raise,
            "set_at": set_at,
            "by": by,
            "reason": reason,
        }
        channel = lane_channel(name.network)
        return await change_by_order(self._engine, SET, values, channel=channel)

    async def lift_cap(
        self, name: CapName, *, set_at: datetime | None, by: str, reason: str
    ) -> bool:
        """False if there is none, or the present cap was not set at `set_at`."""
        values = {**asdict(name), "set_at": set_at, "by": by, "reason": reason}
        channel = lane_channel(name.network)
        return await change_by_order(self._engine, LIFT, values, channel=channel)

    async def list_queued(self, *, after: QueuePlace | None, limit: int) -> Sequence[Record]:
        """Return the payments that wait for their turn, the longest waiting first.

        :param after: only what follows this place.
        """
        at, id = after or (None, 0)
        values = {"networks": self._networks, "after_at": at, "after_id": id, "limit": limit}
        return [_queued_payment(row) for row in await read_alone(self._engine, WAITING, values)]

    async def find_queued(self, intent_id: UUID) -> Record | None:
        """Return a payment that waits for its turn; None where it does not."""
        values = {"networks": self._networks, "intent_id": intent_id}
        row = (await read_alone(self._engine, FIND_WAITING, values)).one_or_none()
        return None if row is None else _queued_payment(row)

    async def queues(self) -> dict[str, tuple[int, timedelta]]:
        """Drop what left the lines, and return how many wait on each network and how long.

        The duration is that of the payment that waits longest.
        """
        values = {"networks": self._networks}
        async with transaction(self._engine) as connection:
            await connection.execute(DELETE_ENDED_QUEUE, values)
            rows = await connection.execute(QUEUES, values)
        return {row.network: (row.waiting, timedelta(seconds=int(row.seconds))) for row in rows}

    async def grant_pass(self, intent_id: UUID, *, by: str, reason: str) -> bool:
        """False if it waits for no cap, or was let through before."""
        values = {"intent_id": intent_id}
        async with transaction(self._engine) as connection:
            order = {**values, "by": by, "reason": reason}
            networks = await connection.scalars(GRANT_PASS, order)
            if networks:
                await log_order(connection)
            for network in networks:
                connection.wake(lane_channel(network))
        return bool(networks)


def _counted_payment(row: Row) -> Record:
    return {
        "intent_id": str(row.intent_id),
        "kind": row.kind,
        "state": row.state,
        "units": str(int(row.amount)),
        "network": row.paid_network,
        "token": row.paid_token,
        "base_units": str(int(row.base_units)),
        "swap_id": row.swap_id and str(row.swap_id),
        "deposit_id": row.deposit_id and str(row.deposit_id),
        "app_id": row.owner_app_id and str(row.owner_app_id),
        "transaction_hash": row.transaction_hash,
        "counts_until": row.counts_until.isoformat(),
        "after_at": row.until.isoformat(),
        "after_id": str(row.intent_id),
    }


def _queued_payment(row: Row) -> Record:
    return {
        "intent_id": str(row.intent_id),
        "swap_id": row.swap_id and str(row.swap_id),
        "kind": row.kind,
        "network": row.network,
        "token": row.token,
        "base_units": str(int(row.base_units)),
        "since": row.since.isoformat(),
        "reason": _reason(row),
        "is_let_through": row.is_let_through,
        "after_at": row.since.isoformat(),
        "after_id": str(row.place),
    }


def _reason(row: Row) -> str:
    if row.cap_id is None:
        return "the Treasury's own limit of the token"
    of = " of ".join(["the cap", *(str(x) for x in (row.cap_token, row.cap_app_id) if x)])
    if row.cap_units is None:
        return f"{of} was lifted: it goes next"
    if row.amount is None:
        return f"it has no price to count under {of}: let the payment through"
    if row.amount > row.cap_units:
        return f"larger than {of}: raise it, or let the payment through"
    return f"{of} has no room for it yet"
