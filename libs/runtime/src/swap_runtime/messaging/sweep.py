"""The slow path: a consumer reads the outboxes itself when Kafka does not bring their messages.

Each consumer keeps a watermark per source and topic, in the order (xid, id): every row up to it is
in the inbox. It moves only over rows of transactions that have ended (`xid < pg_snapshot_xmin`). So
a row that commits late is never below it. Rows beyond it that are not in the inbox are handed, in
the order of their ids, to the same use case.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

import structlog

from swap_runtime.errors import Unavailable
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.parking import OUTBOX_MISSING
from swap_runtime.messaging.records import Position, Record
from swap_runtime.messaging.releasing import Releasing
from swap_runtime.messaging.watermark import FIND_WATERMARK
from swap_runtime.postgres.database import Connection, Engine, Transaction
from swap_runtime.postgres.leases import Lease
from swap_runtime.postgres.sql import Rows, Statement, sql
from swap_runtime.settings import SweepSettings
from swap_runtime.telemetry.metrics import counter

ADD_WATERMARK: Final = sql("""
INSERT INTO watermark (consumer, source, topic) VALUES (:consumer, :source, :topic)
ON CONFLICT DO NOTHING
""")
# What a parked or released message becomes is the parking's business: it is in the inbox.
# Each message is looked up: for an EXISTS all of the consumer's marks would be read, every time.
ADVANCE: Final = """
WITH decided AS (
  SELECT o.xid, o.id, coalesce((SELECT true FROM inbox i
    WHERE i.consumer = :consumer AND i.message_id = o.message_id LIMIT 1), false) AS is_seen
  FROM {source}.outbox o
  WHERE o.topic = :topic AND (o.xid, o.id) > (CAST(CAST(:xid AS text) AS xid8), :id)
    AND o.xid < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY o.xid, o.id LIMIT :limit
), passed AS (
  SELECT xid, id, bool_and(is_seen) OVER (ORDER BY xid, id) AS all_seen FROM decided
), top AS (
  SELECT xid, id FROM passed WHERE all_seen ORDER BY xid DESC, id DESC LIMIT 1
)
UPDATE watermark w SET xid = top.xid, id = top.id, moved_at = now() FROM top
WHERE w.consumer = :consumer AND w.source = :source AND w.topic = :topic
RETURNING CAST(CAST(w.xid AS text) AS bigint) AS xid, w.id
"""
UNSEEN: Final = """
FROM {source}.outbox o
WHERE o.topic = :topic AND (o.xid, o.id) > (CAST(CAST(:xid AS text) AS xid8), :id)
  AND NOT EXISTS (
    SELECT FROM inbox i WHERE i.consumer = :consumer AND i.message_id = o.message_id)
"""
IS_OVERDUE: Final = "SELECT EXISTS (SELECT " + UNSEEN + " AND o.created_at < now() - :overdue)"
# All visible rows, not only those below the oldest open transaction. Within a key a lower id
# commits first. It must not be overtaken because an unrelated transaction is still open.
MISSING: Final = (
    "SELECT o.id, CAST(CAST(o.xid AS text) AS bigint) AS xid, o.message_id, o.key, o.payload "
    + UNSEEN
    + " ORDER BY o.id LIMIT :limit"
)

ADVANCE_LIMIT: Final = 5000
BATCH_SIZE: Final = 500

SWEPT: Final = counter(
    "swept_messages", "Messages that the sweep read from an outbox", ["consumer", "topic"]
)
log = structlog.get_logger()


class Sweep:
    """One consumer's slow path from one source."""

    def __init__(
        self,
        engine: Engine,
        consumer: Consumer[Any],
        *,
        source: str,
        holder: str,
        settings: SweepSettings,
    ) -> None:
        self._consumer = consumer
        self._source = source
        self._settings = settings
        self._next_look = 0.0
        self._releasing = Releasing(engine, consumer)
        self._lease = Lease(engine, f"sweep/{consumer.group}/{consumer.topic.name}", holder=holder)
        self._key = {"consumer": consumer.group, "source": source, "topic": consumer.topic.name}
        self._advance = self._statement(ADVANCE)
        self._is_overdue = self._statement(IS_OVERDUE)
        self._missing = self._statement(MISSING)

    async def __call__(self) -> bool:
        """Go one round; True when there may be more to do at once.

        :raises Unavailable: when Postgres is away, or the source has no outbox yet.
        """
        if self._consumer.has_stopped or not self._is_time():
            return False
        try:
            is_leader, records = await self._read_missing()
        except OUTBOX_MISSING as error:
            raise Unavailable(f"the outbox of {self._source} is not there yet") from error
        released = await self._releasing() if is_leader else False
        if records:
            await self._consumer.handle(records)
            SWEPT.labels(self._consumer.group, self._consumer.topic.name).inc(len(records))
            log.info("messages swept", topic=self._consumer.topic.name, messages=len(records))
        return released or len(records) == BATCH_SIZE

    async def stop(self) -> None:
        """Let another replica sweep."""
        await self._lease.release()

    async def _read_missing(self) -> tuple[bool, list[Record]]:
        """Move the watermark and read what is missing, if this replica is the one that does."""
        watermark_query = (FIND_WATERMARK, self._key)
        async with self._lease.transaction(watermark_query) as (connection, is_leader, [found]):
            position = self._position(connection, found)
            if is_leader:
                position = await self._advance_watermark(connection, position)
            self._consumer.watermark = position
            if not is_leader or not await self._is_due(connection, position):
                return is_leader, []
            values = self._values(position) | {"limit": BATCH_SIZE}
            rows = await connection.execute(self._missing, values)
            return True, [self._record(row) for row in rows]

    def _position(self, connection: Transaction, found: Rows) -> Position:
        row = found.one_or_none()
        if row is None:
            connection.post(ADD_WATERMARK, self._key)
            return Position(self._source, 0, 0)
        return Position(self._source, row.xid, row.id)

    async def _advance_watermark(self, connection: Connection, position: Position) -> Position:
        while True:
            values = self._values(position) | {"source": self._source, "limit": ADVANCE_LIMIT}
            row = (await connection.execute(self._advance, values)).one_or_none()
            if row is None:
                return position
            position = Position(self._source, row.xid, row.id)

    def _is_time(self) -> bool:
        """Say whether to look now: less often while Kafka does the work."""
        now = monotonic()
        if not self._is_idle() and now < self._next_look:
            return False
        self._next_look = now + self._settings.busy_interval.total_seconds()
        return True

    def _is_idle(self) -> bool:
        silence = monotonic() - self._consumer.received_at
        return silence >= self._settings.idle_after.total_seconds()

    async def _is_due(self, connection: Connection, position: Position) -> bool:
        if self._is_idle():
            return True
        values = self._values(position) | {"overdue": self._settings.overdue_after}
        return bool(await connection.scalar(self._is_overdue, values))

    def _values(self, position: Position) -> dict[str, object]:
        return {
            "consumer": self._consumer.group,
            "topic": self._consumer.topic.name,
            "xid": str(position.xid),
            "id": position.id,
        }

    def _record(self, row: Any) -> Record:
        position = Position(self._source, row.xid, row.id)
        topic = self._consumer.topic.name
        return Record(
            topic,
            -1,
            row.id,
            row.key,
            row.payload,
            row.message_id,
            position,
            is_from_outbox=True,
        )

    def _statement(self, template: str) -> Statement:
        if not self._source.isidentifier():
            raise ValueError(f"not a schema: {self._source}")
        return sql(template.format(source=self._source))
