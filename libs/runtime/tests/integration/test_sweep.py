"""Kafka without its data: every message still arrives, once, in order."""

from __future__ import annotations

from datetime import timedelta

import pytest

from libs.runtime.tests.fakes import NOTES, KeepNotes, a_note, a_parking, decide, outgoing
from swap_runtime.errors import Unavailable
from swap_runtime.messaging.batches import Batches
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.outbox import add_to_outbox
from swap_runtime.messaging.records import Position, Record
from swap_runtime.messaging.sweep import Sweep
from swap_runtime.postgres.database import Engine, transaction
from swap_runtime.postgres.sql import sql
from swap_runtime.settings import SweepSettings

pytestmark = pytest.mark.connected

AT_ONCE = SweepSettings(idle_after=timedelta(0))
WHEN_OVERDUE = SweepSettings(idle_after=timedelta(hours=1), overdue_after=timedelta(seconds=60))


class Consumption:
    """A consumer in the reader's schema, which sweeps the settler's outbox."""

    def __init__(self, reader: Engine, settings: SweepSettings = AT_ONCE) -> None:
        self.notes = KeepNotes(reader)
        batches = Batches(NOTES, self.notes, a_parking(reader))
        self.consumer = Consumer(NOTES, "test", batches)
        self.sweep = Sweep(reader, self.consumer, source="settler", holder="a", settings=settings)

    async def watermark(self) -> int:
        await self.sweep()
        assert self.consumer.watermark is not None
        return self.consumer.watermark.id


@pytest.fixture
def consumption(reader: Engine) -> Consumption:
    return Consumption(reader)


class TestSweep:
    @pytest.mark.fault("K14", "K19")
    async def test_k14_delivers_without_kafka_in_order_and_once(
        self, consumption: Consumption, engine: Engine
    ) -> None:
        await decide(engine, *(outgoing(version=n) for n in range(1, 6)))

        for _ in range(3):
            await consumption.sweep()

        assert await consumption.notes.stored_notes() == [("a", n) for n in range(1, 6)]
        assert await consumption.watermark() == 5

    async def test_has_five_round_trips_without_messages(
        self, consumption: Consumption, engine: Engine, round_trips: list[int]
    ) -> None:
        await consumption.sweep()
        round_trips.clear()

        await consumption.sweep()

        assert len(round_trips) == 5

    @pytest.mark.fault("K9")
    async def test_k9_what_kafka_brought_already_acts_once(
        self, consumption: Consumption, engine: Engine
    ) -> None:
        await decide(engine, outgoing(version=1), outgoing(version=2))
        await consumption.notes([a_note(version=1)])

        await consumption.sweep()

        assert await consumption.notes.stored_notes() == [("a", 1), ("a", 2)]

    async def test_leaves_the_work_to_kafka_while_it_brings_messages(
        self, reader: Engine, engine: Engine
    ) -> None:
        consumption = Consumption(reader, WHEN_OVERDUE)
        await decide(engine, outgoing())

        await consumption.sweep()

        assert await consumption.notes.stored_notes() == []

    async def test_takes_what_is_overdue_even_while_kafka_is_busy(
        self, reader: Engine, engine: Engine
    ) -> None:
        consumption = Consumption(reader, WHEN_OVERDUE)
        await decide(engine, outgoing())
        async with transaction(engine) as connection:
            await connection.execute(sql("UPDATE outbox SET created_at = now() - interval '61 s'"))

        await consumption.sweep()

        assert await consumption.notes.stored_notes() == [("a", 1)]

    @pytest.mark.fault("K3")
    async def test_k3_the_watermark_waits_for_a_transaction_that_may_still_commit(
        self, consumption: Consumption, engine: Engine
    ) -> None:
        async with engine.begin() as slow:
            add_to_outbox(slow, [outgoing("low")])
            await slow.execute("SELECT 1")  # it has its transaction id
            await decide(engine, outgoing("high"))
            await consumption.sweep()
            assert await consumption.notes.stored_notes() == [("high", 1)]
            assert await consumption.watermark() == 0

        await consumption.sweep()

        assert await consumption.notes.stored_notes() == [("high", 1), ("low", 1)]
        assert await consumption.watermark() == 2

    async def test_a_second_replica_stands_by(
        self, consumption: Consumption, reader: Engine, engine: Engine
    ) -> None:
        await consumption.sweep()
        standby = Sweep(
            reader, consumption.consumer, source="settler", holder="b", settings=AT_ONCE
        )
        await decide(engine, outgoing())

        await standby()

        assert await consumption.notes.stored_notes() == []
        await consumption.sweep.stop()
        await standby()
        assert await consumption.notes.stored_notes() == [("a", 1)]

    async def test_moves_over_parked_messages(
        self, consumption: Consumption, engine: Engine
    ) -> None:
        consumption.notes.poison = {"bad"}
        await decide(engine, outgoing("bad"), outgoing("good"))

        await consumption.sweep()

        assert await consumption.notes.stored_notes() == [("good", 1)]
        assert await consumption.watermark() == 2

    async def test_waits_for_a_source_that_has_no_tables_yet(
        self, consumption: Consumption, reader: Engine
    ) -> None:
        sweep = Sweep(reader, consumption.consumer, source="notifier", holder="a", settings=AT_ONCE)

        with pytest.raises(Unavailable):
            await sweep()


class TestWatermark:
    async def test_a_message_from_kafka_below_it_is_a_duplicate_without_being_looked_up(
        self, consumption: Consumption, engine: Engine, reader: Engine
    ) -> None:
        await decide(engine, outgoing())
        await consumption.sweep()
        await consumption.sweep()
        mark = consumption.consumer.watermark
        assert mark is not None
        async with transaction(reader) as connection:
            await connection.execute(sql("DELETE FROM inbox"))  # as pruning does

        for position in (mark, Position(mark.source, mark.xid - 1, mark.id + 9)):
            message = outgoing()
            await consumption.consumer.receive(
                [Record(NOTES.name, 0, 0, b"a", message.payload, message.message_id, position)]
            )

        assert await consumption.notes.stored_notes() == [("a", 1)]
