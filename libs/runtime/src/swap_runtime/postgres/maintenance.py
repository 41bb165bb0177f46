"""Maintains the runtime's tables: creates coming days, drops past days and marks that are not
needed any more.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

import structlog

from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Connection, Engine, execute_alone, reading, transaction
from swap_runtime.postgres.schema import DAYS_AHEAD, FIRST_XID
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import counter, gauge

RETENTION: Final = timedelta(days=7)
ENDED_RETENTION: Final = timedelta(days=30)
# One replica at a time; the lock goes with the transaction.
TRY_LOCK: Final = sql("SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema(), 2))")
# Shorter than any use case waits: maintenance gives way and comes again.
SHORT_LOCK_TIMEOUT: Final = sql("SET LOCAL lock_timeout = '500ms'")

MISSING_DAYS: Final = sql("""
SELECT DISTINCT day FROM (
  SELECT CAST(generate_series(today, today + :ahead, interval '1 day') AS date) AS day
  FROM (SELECT CAST(now() AT TIME ZONE 'UTC' AS date) AS today) AS calendar
  UNION ALL SELECT CAST(created_at AT TIME ZONE 'UTC' AS date) FROM outbox_default
) AS wanted
WHERE to_regclass(current_schema() || '.outbox_' || to_char(day, 'YYYYMMDD')) IS NULL
ORDER BY day
""")
CREATE_PARTITION: Final = sql("SELECT make_outbox_partition(:day)")

OLD_PARTITIONS: Final = sql("""
SELECT child.relname AS name FROM pg_inherits
JOIN pg_class child ON child.oid = inhrelid
WHERE inhparent = to_regclass('outbox') AND child.relname ~ '^outbox_[0-9]{8}$'
  AND to_date(right(child.relname, 8), 'YYYYMMDD') < CAST(:before AS date)
ORDER BY name
""")
READERS: Final = sql("""
SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relname = 'watermark' AND has_schema_privilege(nspname, 'USAGE')
  AND has_table_privilege(pg_class.oid, 'SELECT')
ORDER BY 1
""")
# A topic without any watermark has a reader that has not come yet: its rows stay. For any number of
# rows of the day, two probes of `outbox_swept` per topic are enough: the next topic, and its last
# row.
IS_UNREAD: Final = """
WITH RECURSIVE mark AS ({marks}), found AS (
  (SELECT topic FROM {day} ORDER BY topic LIMIT 1)
  UNION ALL
  SELECT (SELECT o.topic FROM {day} o WHERE o.topic > found.topic ORDER BY o.topic LIMIT 1)
  FROM found WHERE found.topic IS NOT NULL
)
SELECT EXISTS (
  SELECT FROM found CROSS JOIN LATERAL (
    SELECT o.xid, o.id FROM {day} o WHERE o.topic = found.topic
    ORDER BY o.xid DESC, o.id DESC LIMIT 1) AS last
  WHERE NOT EXISTS (SELECT FROM mark WHERE mark.topic = found.topic)
    OR EXISTS (
      SELECT FROM mark
      WHERE mark.topic = found.topic AND (last.xid, last.id) > (mark.xid, mark.id))
)
"""

WATERMARKS: Final = sql("""
SELECT source, topic, CAST(xid AS text) AS xid, id FROM watermark WHERE consumer = :consumer
""")
OLDEST_UNREAD: Final = """
SELECT min(created_at) FROM {source}.outbox
WHERE topic = :topic AND (xid, id) > (CAST(:xid AS xid8), :id)
"""
DELETE_MARKS: Final = sql("""
DELETE FROM inbox WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM inbox
  WHERE consumer = :consumer AND at < :before AND state = 'done' LIMIT 10000))
""")

# Only what an operator ended: its mark in the inbox is done, and the order stays in the log.
DELETE_ENDED: Final = sql("""
DELETE FROM parked WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM parked WHERE ended_at < :before AND state IN ('released', 'dropped')
  LIMIT 1000))
""")

# A dump that was restored elsewhere brings transaction ids which are still to come there.
# What is visible was committed, so its own id is smaller than the next one.
RESET_RESTORED_XIDS: Final = (
    sql(
        f"UPDATE outbox SET xid = '{FIRST_XID}' "
        "WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())"
    ),
    sql(
        "UPDATE watermark SET xid = '0', id = 0 "
        "WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())"
    ),
)

STATE: Final = sql("""
SELECT (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0) FROM outbox
        WHERE published_at IS NULL) AS oldest,
       (SELECT count(*) FROM parked WHERE state IN ('parked', 'releasing')) AS parked,
       (SELECT count(*) FROM parked WHERE state = 'unverified') AS unverified,
       (SELECT count(*) FROM outbox_default) AS homeless
""")
# Alert: old. Kafka accepts nothing, or the relay does not run.
OLDEST_UNPUBLISHED: Final = gauge(
    "outbox_oldest_seconds", "Age of the oldest message not published"
)
# Alert: any.
PARKED_NOW: Final = gauge("parked_messages", "Parked messages that wait for an operator")
# Alert: any.
UNVERIFIED_NOW: Final = gauge(
    "unverified_messages", "Quarantined messages that the sender's outbox does not hold"
)
# Alert: any. No partition was made ahead.
DEFAULT_ROWS: Final = gauge("outbox_default_rows", "Outbox rows whose day had no partition")
PRUNED: Final = counter("rows_pruned", "Rows deleted because they are old", ["table"])
log = structlog.get_logger()


class Maintenance:
    """One service's housekeeping. Every part may run at any time, on any replica."""

    def __init__(self, engine: Engine, *, consumers: Collection[str]) -> None:
        self._engine = engine
        self._consumers = sorted(set(consumers))

    async def __call__(self) -> bool:
        """Do all of it; what is locked just now waits for the next round.

        :raises Unavailable: when Postgres is away.
        """
        await self.create_partitions()
        await self.drop_consumed_partitions()
        await self.prune_inbox()
        await self.prune_parked()
        return False

    async def measure(self) -> bool:
        """Bring the gauges up to date."""
        async with reading(self._engine) as connection:
            state = (await connection.execute(STATE)).one()
        OLDEST_UNPUBLISHED.set(float(state.oldest))
        PARKED_NOW.set(state.parked)
        UNVERIFIED_NOW.set(state.unverified)
        DEFAULT_ROWS.set(state.homeless)
        if state.homeless:
            log.error("outbox rows had no partition", rows=state.homeless)
        return False

    async def reset_restored_xids(self) -> None:
        """Restart the order of commits where the database is from a dump."""
        async with transaction(self._engine) as connection:
            resets = [connection.post(statement) for statement in RESET_RESTORED_XIDS]
        for each in resets:
            if each.changed:
                log.warning("transaction ids of a restored dump reset", rows=each.changed)

    async def create_partitions(self) -> None:
        """Make the partitions of the next days, and give rows without one a home."""
        async with transaction(self._engine) as connection:
            if not await connection.scalar(TRY_LOCK):
                return
            connection.post(SHORT_LOCK_TIMEOUT)
            days = await connection.scalars(MISSING_DAYS, {"ahead": DAYS_AHEAD})
            for day in days:
                connection.post(CREATE_PARTITION, {"day": day})
        for day in days:
            log.info("outbox partition created", day=str(day))

    async def drop_consumed_partitions(self, *, retention: timedelta = RETENTION) -> None:
        """Drop the days that are older than `retention` and that every reader has passed."""
        async with reading(self._engine) as connection:
            before = await connection.scalar(
                sql("SELECT now() - :retention"), {"retention": retention}
            )
            days = await connection.scalars(OLD_PARTITIONS, {"before": before})
        for day in days:
            try:
                await self._drop(day)
            except Unavailable:
                log.info("outbox partition is locked", day=day)
                return

    async def _drop(self, day: str) -> None:
        async with transaction(self._engine) as connection:
            if not await connection.scalar(TRY_LOCK):
                return
            if await self._is_unread(connection, day):
                log.warning("outbox partition has unread messages", day=day)
                return
            connection.post(SHORT_LOCK_TIMEOUT)
            connection.post(sql(f"DROP TABLE {day}"))
        log.info("outbox partition dropped", day=day)

    async def _is_unread(self, connection: Connection, day: str) -> bool:
        marks = " UNION ALL ".join(
            f"SELECT topic, xid, id FROM {schema}.watermark WHERE source = current_schema()"
            for schema in await connection.scalars(READERS)
        )
        return bool(await connection.scalar(sql(IS_UNREAD.format(marks=marks, day=day))))

    async def prune_inbox(self, *, retention: timedelta = RETENTION + timedelta(days=1)) -> None:
        """Delete marks that are older than the retention and than every unread message."""
        for consumer in self._consumers:
            before = await self._prunable_before(consumer, retention)
            while before is not None:
                values = {"consumer": consumer, "before": before}
                deleted = (await execute_alone(self._engine, DELETE_MARKS, values)).changed
                if not deleted:
                    break
                PRUNED.labels("inbox").inc(deleted)

    async def prune_parked(self, *, retention: timedelta = ENDED_RETENTION) -> None:
        """Delete parked messages that were released or dropped long ago."""
        async with reading(self._engine) as connection:
            before = await connection.scalar(
                sql("SELECT now() - :retention"), {"retention": retention}
            )
        while deleted := (
            await execute_alone(self._engine, DELETE_ENDED, {"before": before})
        ).changed:
            PRUNED.labels("parked").inc(deleted)

    async def _prunable_before(self, consumer: str, retention: timedelta) -> datetime | None:
        """A mark is younger than its message: what is older than all unread ones is passed."""
        async with reading(self._engine) as connection:
            before: datetime = await connection.scalar(
                sql("SELECT now() - :retention"), {"retention": retention}
            )
            marks = await connection.execute(WATERMARKS, {"consumer": consumer})
            for mark in marks:
                statement = sql(OLDEST_UNREAD.format(source=mark.source))
                values = {"topic": mark.topic, "xid": mark.xid, "id": mark.id}
                oldest: datetime | None = await connection.scalar(statement, values)
                before = min(before, oldest or before)
        return before if marks else None
