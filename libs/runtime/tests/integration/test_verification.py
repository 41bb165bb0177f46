"""A message from Kafka acts only where its sender's outbox holds the same message."""

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
from swap_runtime.messaging.verification import Unverified
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected

OUTBOX = sql("SELECT id, CAST(CAST(xid AS text) AS bigint) AS xid FROM outbox ORDER BY id")


class Room:
    """One consumer of the settler's notes."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.notes = KeepNotes(engine)
        self.consumer = Consumer(NOTES, "test", Batches(NOTES, self.notes, a_parking(engine)))
        self.operator = ParkedRoutes(engine, sources=SOURCES)

    async def sent(self, *things: str) -> list[Record]:
        """Commit notes to the outbox; return the records that the relay publishes for them."""
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


@pytest.fixture
def room(engine: Engine) -> Room:
    return Room(engine)


class TestVerification:
    async def test_takes_what_the_senders_outbox_holds(self, room: Room) -> None:
        await room.consumer.hear(await room.sent("a", "b"))

        assert sorted(await room.notes.kept()) == [("a", 1), ("b", 1)]
        assert await room.unverified() == []

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
    async def test_a_record_that_differs_from_the_outbox_does_nothing(
        self, room: Room, changes: dict[str, object]
    ) -> None:
        real, other = await room.sent("a", "b")

        await room.consumer.hear([replace(real, **changes), other])  # type: ignore[arg-type]

        assert await room.notes.kept() == [("b", 1)]
        assert [row["state"] for row in await room.unverified()] == ["unverified"]

    async def test_it_delays_no_real_message_of_its_key_or_id(self, room: Room) -> None:
        forged = [a_received("a"), replace(a_received("a"), value=b"{")]
        await room.consumer.hear(forged)

        await room.consumer.hear(await room.sent("a"))

        assert await room.notes.kept() == [("a", 1)]
        assert await room.operator.list_parked(state="parked", topic=None) == []

    async def test_one_that_fails_before_it_is_marked_holds_no_key(self, room: Room) -> None:
        room.notes.poison = {"a"}
        await room.consumer.hear([a_received("a")])
        room.notes.poison = set()

        await room.consumer.hear(await room.sent("a"))

        assert await room.notes.kept() == [("a", 1)]
        assert len(await room.unverified()) == 1

    async def test_thousands_neither_stop_the_consumer_nor_fill_the_table(self, room: Room) -> None:
        real = await room.sent("a")
        forged = [a_received(f"f{n}", offset=n) for n in range(2000)]
        for n in range(0, 2000, 500):
            await room.consumer.hear(forged[n : n + 500])
        await room.consumer.hear([*forged[:100], *real])

        assert await room.notes.kept() == [("a", 1)]
        assert len(await room.unverified()) == STORED_MAX
        assert not room.consumer.has_stopped
        assert await room.marks() == 1

    async def test_a_message_of_a_future_that_a_restore_lost_does_nothing(self, room: Room) -> None:
        (lost,) = await room.sent("a")
        async with reading(room.engine) as connection:
            await connection.execute(sql("DELETE FROM outbox"))

        await room.consumer.hear([lost])

        assert await room.notes.kept() == []
        assert len(await room.unverified()) == 1

    async def test_a_row_whose_xid_a_restored_dump_rewrote_is_found(self, room: Room) -> None:
        (record,) = await room.sent("a")
        async with reading(room.engine) as connection:
            await connection.execute(sql("UPDATE outbox SET xid = '3'"))

        await room.consumer.hear([record])

        assert await room.notes.kept() == [("a", 1)]

    async def test_what_the_watermark_has_passed_is_a_duplicate(self, room: Room) -> None:
        (record,) = await room.sent("a")
        assert record.position is not None
        async with reading(room.engine) as connection:
            await connection.execute(
                sql(
                    "INSERT INTO watermark (consumer, source, topic, xid, id) VALUES "
                    "('test', 'settler', :topic, CAST(CAST(:xid AS text) AS xid8), :id)"
                ),
                {"topic": NOTES.name, "xid": str(record.position.xid), "id": record.position.id},
            )
            await connection.execute(sql("DELETE FROM outbox"))

        await room.consumer.hear([record])

        assert await room.notes.kept() == []
        assert await room.unverified() == []

    async def test_release_checks_again(self, room: Room) -> None:
        (record,) = await room.sent("a")
        await room.consumer.hear([a_received("b"), replace(record, key=b"other")])
        forged, _ = await room.unverified()

        with pytest.raises(Unverified):
            await room.operator.release(int(str(forged["id"])))
        assert await room.operator.drop(int(str(forged["id"])))
        assert len(await room.unverified()) == 1

    async def test_release_ends_what_the_outbox_holds_meanwhile(self, room: Room) -> None:
        (record,) = await room.sent("a")
        async with reading(room.engine) as connection:
            await connection.execute(sql("UPDATE outbox SET topic = 'elsewhere'"))
        await room.consumer.hear([record])
        (stored,) = await room.unverified()
        id = int(str(stored["id"]))
        with pytest.raises(Unverified):
            await room.operator.release(id)
        async with reading(room.engine) as connection:
            await connection.execute(sql("UPDATE outbox SET topic = :topic"), {"topic": NOTES.name})

        assert await room.operator.release(id)

        assert await room.unverified() == []
        (ended,) = await room.operator.list_parked(state="released", topic=None)
        assert ended["id"] == id
        await room.consumer.hear([record])
        assert await room.notes.kept() == [("a", 1)]

    async def test_asks_in_the_round_trip_of_the_marks(
        self, room: Room, round_trips: list[int]
    ) -> None:
        records = await room.sent("a")
        round_trips.clear()

        await room.consumer.hear(records)

        assert round_trips == [4, 1, 1]  # BEGIN with mark, look and check, the note, COMMIT
