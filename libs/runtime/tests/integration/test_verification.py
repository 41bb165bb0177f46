"""A message from Kafka takes effect only if its sender's outbox has the same message."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from libs.runtime.tests.fakes import (
    NOTES,
    SOURCES,
    KeepNotes,
    a_note,
    a_parking,
    decide,
    outgoing,
)
from swap_runtime.messaging.batches import Batches
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.parked_routes import ParkedRoutes
from swap_runtime.messaging.quarantine import STORED_MAX
from swap_runtime.messaging.records import Position, Record
from swap_runtime.messaging.verification import UnverifiedMessages
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import REGISTRY

pytestmark = pytest.mark.connected

OUTBOX = sql("SELECT id, CAST(CAST(xid AS text) AS bigint) AS xid FROM outbox ORDER BY id")


class Consumption:
    """One consumer of the settler's notes."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.notes = KeepNotes(engine)
        self.consumer = Consumer(NOTES, "test", Batches(NOTES, self.notes, a_parking(engine)))
        self.operator = ParkedRoutes(engine, sources=SOURCES)

    async def sent(self, *things: str) -> list[Record]:
        """Commit notes to the outbox; return the relay's records of them."""
        await decide(self.engine, *(outgoing(thing) for thing in things))
        async with reading(self.engine) as connection:
            rows = (await connection.execute(OUTBOX))[-len(things) :]
        return [
            a_received(thing, position=Position("settler", row.xid, row.id))
            for thing, row in zip(things, rows, strict=True)
        ]

    async def unverified(self) -> list[dict[str, object]]:
        return await self.operator.list_parked(state="unverified", topic=None)

    async def marks(self) -> int:
        async with reading(self.engine) as connection:
            return int(await connection.scalar(sql("SELECT count(*) FROM inbox")))


def a_received(thing: str = "a", *, position: Position | None = None, offset: int = 0) -> Record:
    note = a_note(thing)
    value = note.model_dump_json().encode()
    return Record(NOTES.name, 0, offset, thing.encode(), value, note.message_id, position)


def skipped() -> float:
    return REGISTRY.get_sample_value("swap_messages_skipped_total", {"topic": NOTES.name}) or 0


@pytest.fixture
def consumption(engine: Engine) -> Consumption:
    return Consumption(engine)


class TestVerification:
    async def test_takes_what_the_senders_outbox_holds(self, consumption: Consumption) -> None:
        await consumption.consumer.receive(await consumption.sent("a", "b"))

        assert sorted(await consumption.notes.stored_notes()) == [("a", 1), ("b", 1)]
        assert await consumption.unverified() == []

    @pytest.mark.parametrize(
        "changes",
        [
            {"position": None},
            {"message_id": None},
            {"message_id": uuid4()},
            {"key": b"other"},
            {"value": a_note("a", version=2).model_dump_json().encode()},
            {"value": b"{"},
            {"position": Position("settler", 3, 2**62)},
            {"position": Position("api", 3, 1)},
        ],
    )
    async def test_a_record_that_differs_from_the_outbox_has_no_effect(
        self, consumption: Consumption, changes: dict[str, object]
    ) -> None:
        real, other = await consumption.sent("a", "b")

        await consumption.consumer.receive([replace(real, **changes), other])  # type: ignore[arg-type]

        assert await consumption.notes.stored_notes() == [("b", 1)]
        assert [row["state"] for row in await consumption.unverified()] == ["unverified"]

    async def test_forged_message_delays_no_real_message_of_its_key_or_id(
        self, consumption: Consumption
    ) -> None:
        forged = [a_received("a"), replace(a_received("a"), value=b"{")]
        await consumption.consumer.receive(forged)

        await consumption.consumer.receive(await consumption.sent("a"))

        assert await consumption.notes.stored_notes() == [("a", 1)]
        assert await consumption.operator.list_parked(state="parked", topic=None) == []

    async def test_forged_message_that_fails_unmarked_holds_no_key(
        self, consumption: Consumption
    ) -> None:
        consumption.notes.poison = {"a"}
        await consumption.consumer.receive([a_received("a")])
        consumption.notes.poison = set()

        await consumption.consumer.receive(await consumption.sent("a"))

        assert await consumption.notes.stored_notes() == [("a", 1)]
        assert len(await consumption.unverified()) == 1

    async def test_thousands_neither_stop_the_consumer_nor_fill_the_table(
        self, consumption: Consumption
    ) -> None:
        real = await consumption.sent("a")
        forged = [a_received(f"f{n}", offset=n) for n in range(2000)]
        for n in range(0, 2000, 500):
            await consumption.consumer.receive(forged[n : n + 500])
        await consumption.consumer.receive([*forged[:100], *real])

        assert await consumption.notes.stored_notes() == [("a", 1)]
        assert len(await consumption.unverified()) == STORED_MAX
        assert not consumption.consumer.has_stopped
        assert await consumption.marks() == 1

    async def test_a_message_that_a_restore_removed_has_no_effect(
        self, consumption: Consumption
    ) -> None:
        (lost,) = await consumption.sent("a")
        async with reading(consumption.engine) as connection:
            await connection.execute(sql("DELETE FROM outbox"))

        await consumption.consumer.receive([lost])

        assert await consumption.notes.stored_notes() == []
        assert len(await consumption.unverified()) == 1

    async def test_a_row_whose_xid_a_restored_dump_rewrote_is_found(
        self, consumption: Consumption
    ) -> None:
        (record,) = await consumption.sent("a")
        async with reading(consumption.engine) as connection:
            await connection.execute(sql("UPDATE outbox SET xid = '3'"))

        await consumption.consumer.receive([record])

        assert await consumption.notes.stored_notes() == [("a", 1)]

    @pytest.mark.parametrize("is_known", [False, True], ids=["stored alone", "known before"])
    async def test_message_before_the_watermark_counts_as_a_duplicate(
        self, consumption: Consumption, *, is_known: bool
    ) -> None:
        before = skipped()
        (record,) = await consumption.sent("a")
        assert record.position is not None
        async with reading(consumption.engine) as connection:
            await connection.execute(
                sql(
                    "INSERT INTO watermark (consumer, source, topic, xid, id) VALUES "
                    "('test', 'settler', :topic, CAST(CAST(:xid AS text) AS xid8), :id)"
                ),
                {"topic": NOTES.name, "xid": str(record.position.xid), "id": record.position.id},
            )
            await connection.execute(sql("DELETE FROM outbox"))
        consumption.consumer.watermark = record.position if is_known else None

        await consumption.consumer.receive([record, replace(record, value=b"{", offset=1)])

        assert await consumption.notes.stored_notes() == []
        assert await consumption.unverified() == []
        assert skipped() - before == 2

    async def test_release_checks_again(self, consumption: Consumption) -> None:
        (record,) = await consumption.sent("a")
        await consumption.consumer.receive([a_received("b"), replace(record, key=b"other")])
        forged, _ = await consumption.unverified()

        with pytest.raises(UnverifiedMessages):
            await consumption.operator.release(int(str(forged["id"])))
        assert await consumption.operator.drop(int(str(forged["id"])))
        assert len(await consumption.unverified()) == 1

    async def test_release_ends_what_the_outbox_holds_meanwhile(
        self, consumption: Consumption
    ) -> None:
        (record,) = await consumption.sent("a")
        async with reading(consumption.engine) as connection:
            await connection.execute(sql("UPDATE outbox SET topic = 'elsewhere'"))
        await consumption.consumer.receive([record])
        (stored,) = await consumption.unverified()
        id = int(str(stored["id"]))
        with pytest.raises(UnverifiedMessages):
            await consumption.operator.release(id)
        async with reading(consumption.engine) as connection:
            await connection.execute(sql("UPDATE outbox SET topic = :topic"), {"topic": NOTES.name})

        assert await consumption.operator.release(id)

        assert await consumption.unverified() == []
        (ended,) = await consumption.operator.list_parked(state="released", topic=None)
        assert ended["id"] == id
        await consumption.consumer.receive([record])
        assert await consumption.notes.stored_notes() == [("a", 1)]

    async def test_asks_in_the_round_trip_of_the_marks(
        self, consumption: Consumption, round_trips: list[int]
    ) -> None:
        records = await consumption.sent("a")
        round_trips.clear()

        await consumption.consumer.receive(records)

        assert round_trips == [4, 1, 1]  # BEGIN with mark, look-up and check, the note, COMMIT
