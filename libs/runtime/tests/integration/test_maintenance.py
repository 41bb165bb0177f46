from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from libs.runtime.tests.fakes import NOTES, KeepNotes, a_parking, decide, outgoing
from swap_runtime.messaging.batches import Batches
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.sweep import Sweep
from swap_runtime.postgres.database import Engine, transaction
from swap_runtime.postgres.maintenance import IS_UNREAD, Maintenance
from swap_runtime.postgres.sql import sql
from swap_runtime.settings import SweepSettings

pytestmark = pytest.mark.connected

DAYS = """
SELECT count(*) FROM pg_inherits WHERE inhparent = 'outbox'::regclass
  AND inhrelid <> 'outbox_default'::regclass
"""
# Without a retention time yesterday's partition may be dropped.
NOTHING_RETAINED = timedelta(0)
TO_YESTERDAY = "UPDATE outbox SET created_at = created_at - interval '1 day'"


MANY_ROWS = """
WITH topics AS (SELECT 'topic' || n AS topic FROM generate_series(1, 3) AS n), marked AS (
  INSERT INTO watermark (consumer, source, topic, xid, id)
  SELECT 'test', 'settler', topic, '999999999', 0 FROM topics)
INSERT INTO outbox (message_id, topic, key, payload)
SELECT gen_random_uuid(), topic, '', '' FROM topics, generate_series(1, 2000)
"""


def looked_at(plan: dict[str, Any]) -> int:
    """Return the number of outbox rows that a plan visited, including filtered ones."""
    here = 0
    if str(plan.get("Relation Name", "")).startswith("outbox"):
        per_loop = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
        here = int(per_loop * plan["Actual Loops"])
    return here + sum(looked_at(child) for child in plan.get("Plans", ()))


async def scalar(engine: Engine, statement: str) -> object:
    async with transaction(engine) as connection:
        return await connection.scalar(sql(statement))


async def execute(engine: Engine, statement: str) -> None:
    async with transaction(engine) as connection:
        await connection.execute(sql(statement))


@pytest.fixture
def maintenance(engine: Engine) -> Maintenance:
    return Maintenance(engine, consumers=())


@pytest.fixture
def notes(reader: Engine) -> KeepNotes:
    return KeepNotes(reader)


@pytest.fixture
def sweep(reader: Engine, notes: KeepNotes) -> Sweep:
    parking = a_parking(reader)
    consumer = Consumer(NOTES, "test", Batches(NOTES, notes, parking))
    settings = SweepSettings(idle_after=timedelta(0))
    return Sweep(reader, consumer, source="settler", holder="a", settings=settings)


class TestMakeDays:
    async def test_makes_the_days_that_are_missing(
        self, engine: Engine, maintenance: Maintenance
    ) -> None:
        before = await scalar(engine, DAYS)
        await execute(
            engine,
            "DO $$ BEGIN EXECUTE 'DROP TABLE outbox_' || "
            "to_char(now() AT TIME ZONE 'UTC' + interval '3 days', 'YYYYMMDD'); END $$",
        )

        await maintenance.create_partitions()

        assert await scalar(engine, DAYS) == before

    async def test_stores_rows_of_a_day_without_partition(
        self, engine: Engine, maintenance: Maintenance
    ) -> None:
        await decide(engine, outgoing())
        await execute(engine, "UPDATE outbox SET created_at = now() + interval '30 days'")
        assert await scalar(engine, "SELECT count(*) FROM outbox_default") == 1

        await maintenance.create_partitions()
        await maintenance.measure()

        assert await scalar(engine, "SELECT count(*) FROM outbox_default") == 0
        assert await scalar(engine, "SELECT count(*) FROM outbox") == 1

    async def test_ids_continue_in_a_new_day(
        self, engine: Engine, maintenance: Maintenance
    ) -> None:
        await decide(engine, outgoing(version=1))
        await maintenance.create_partitions()
        await decide(engine, outgoing(version=2))

        assert await scalar(engine, "SELECT max(id) FROM outbox") == 2


class TestDropReadDays:
    async def test_keeps_unread_messages(self, engine: Engine, maintenance: Maintenance) -> None:
        await decide(engine, outgoing())
        await execute(engine, TO_YESTERDAY)

        await maintenance.drop_consumed_partitions(retention=NOTHING_RETAINED)

        assert await scalar(engine, "SELECT count(*) FROM outbox") == 1

    async def test_drops_what_every_watermark_has_passed(
        self, engine: Engine, maintenance: Maintenance, sweep: Sweep
    ) -> None:
        await decide(engine, outgoing())
        await execute(engine, TO_YESTERDAY)
        await sweep()
        await sweep()
        await decide(engine, outgoing(version=2))

        await maintenance.drop_consumed_partitions(retention=NOTHING_RETAINED)

        assert await scalar(engine, "SELECT count(*) FROM outbox") == 1
        assert await scalar(engine, "SELECT count(*) FROM outbox WHERE id = 1") == 0

    async def test_keeps_a_day_of_which_one_topic_is_not_read(
        self, engine: Engine, maintenance: Maintenance, sweep: Sweep
    ) -> None:
        await decide(engine, outgoing(), outgoing(version=2))
        await execute(engine, TO_YESTERDAY)
        await sweep()
        await sweep()
        await execute(engine, "UPDATE outbox SET topic = 'zebras.v1' WHERE id = 2")

        await maintenance.drop_consumed_partitions(retention=NOTHING_RETAINED)

        assert await scalar(engine, "SELECT count(*) FROM outbox") == 2

    async def test_looks_at_few_rows_however_many_a_day_has(self, engine: Engine) -> None:
        async with transaction(engine) as connection:
            await connection.execute(sql(MANY_ROWS))
        await execute(engine, "ANALYZE outbox")
        day = await scalar(engine, "SELECT min(tableoid::regclass::text) FROM outbox")
        marks = "SELECT topic, xid, id FROM watermark"

        async with transaction(engine) as connection:
            statement = IS_UNREAD.format(marks=marks, day=day)
            plan: Any = await connection.scalar(
                sql(f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {statement}")
            )

        assert 0 < looked_at(plan[0]["Plan"]) < 20

    async def test_keeps_recent_days(self, engine: Engine, maintenance: Maintenance) -> None:
        before = await scalar(engine, DAYS)

        await maintenance.drop_consumed_partitions()

        assert await scalar(engine, DAYS) == before


class TestPruneInbox:
    async def test_deletes_marks_that_the_watermark_has_passed(
        self, engine: Engine, reader: Engine, sweep: Sweep
    ) -> None:
        await decide(engine, outgoing(version=1))
        await sweep()
        await sweep()
        await decide(engine, outgoing(version=2))

        await Maintenance(reader, consumers=["test"]).prune_inbox(retention=NOTHING_RETAINED)

        assert await scalar(reader, "SELECT count(*) FROM inbox") == 0

    async def test_keeps_the_marks_of_unread_days(
        self, engine: Engine, reader: Engine, sweep: Sweep
    ) -> None:
        await decide(engine, outgoing())
        await sweep()  # marked; the watermark moves in the next round

        await Maintenance(reader, consumers=["test"]).prune_inbox(retention=NOTHING_RETAINED)

        assert await scalar(reader, "SELECT count(*) FROM inbox") == 1


PARK = """
INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id, reason,
    is_behind, state, ended_at)
SELECT 'test', 'notes.v1', 'a', 'b', 0, n, gen_random_uuid(), 'poison', false, state,
    now() - CAST(ended AS interval)
FROM (VALUES ('parked', NULL), ('releasing', NULL), ('unverified', NULL), ('released', '40 days'),
    ('dropped', '40 days'), ('released', '20 days'), ('dropped', '20 days')) AS row(state, ended),
  generate_series(1, 600) AS n
"""


class TestPruneParked:
    async def test_deletes_what_an_operator_ended_long_ago(
        self, engine: Engine, maintenance: Maintenance
    ) -> None:
        await execute(engine, PARK)

        await maintenance.prune_parked()

        assert await scalar(engine, "SELECT count(*) FROM parked") == 5 * 600
        assert await scalar(engine, "SELECT count(DISTINCT state) FROM parked") == 5
        assert await scalar(engine, "SELECT min(ended_at) > now() - interval '30 days' FROM parked")


class TestForgetForeignXids:
    @pytest.mark.fault("P6")
    async def test_p6_messages_arrive_after_a_dump_was_restored_elsewhere(
        self,
        engine: Engine,
        reader: Engine,
        maintenance: Maintenance,
        sweep: Sweep,
        notes: KeepNotes,
    ) -> None:
        await decide(engine, outgoing(version=1))
        await sweep()
        await sweep()
        # As from a much older cluster: its transaction ids are still in the future here.
        for owner, table in ((engine, "outbox"), (reader, "watermark")):
            await execute(owner, f"UPDATE {table} SET xid = '999999999'")
        await decide(engine, outgoing(version=2))

        await maintenance.reset_restored_xids()
        await Maintenance(reader, consumers=["test"]).reset_restored_xids()
        await sweep()
        await sweep()

        assert await notes.stored_notes() == [("a", 1), ("a", 2)]
        assert await scalar(reader, "SELECT id FROM watermark") == 2
