from __future__ import annotations

from typing import Any

import pytest

from libs.runtime.tests.fakes import NOTES, KeepNotes, a_record
from swap_runtime.batches import Batches
from swap_runtime.consumer import Consumer
from swap_runtime.database import Engine
from swap_runtime.parked_routes import ParkedRoutes
from swap_runtime.parking import PostgresParking
from swap_runtime.releasing import Releasing
from swap_runtime.sql import sql

pytestmark = pytest.mark.connected


class Room:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.notes = KeepNotes(engine)
        self.parking = PostgresParking(engine, consumer="test")
        self.consumer = Consumer(NOTES, "test", Batches(NOTES, self.notes, self.parking))
        self.releasing = Releasing(engine, self.consumer)
        self.operator = ParkedRoutes(engine)

    async def parked(self) -> list[dict[str, Any]]:
        return await self.operator.list_parked(state=None, topic=None)

    async def settle(self) -> None:
        while await self.releasing():
            pass

    async def inbox(self) -> list[str]:
        async with self._engine.connect() as connection:
            return list(await connection.scalars(sql("SELECT state FROM inbox ORDER BY state")))


@pytest.fixture
async def room(engine: Engine) -> Room:
    """Version 1 of a thing is parked; versions 2 and 3 wait behind it."""
    room = Room(engine)
    room.notes.poison = {"a"}
    await room.consumer.hear([a_record(version=1), a_record("b")])
    await room.consumer.hear([a_record(version=2), a_record(version=3)])
    return room


class TestPostgresParking:
    async def test_keeps_the_order_of_a_key_behind_its_poison(self, room: Room) -> None:
        parked = await room.parked()

        assert [(p["is_behind"], p["key"]) for p in parked] == [
            (False, "a"),
            (True, "a"),
            (True, "a"),
        ]
        assert await room.notes.kept() == [("b", 1)]
        assert await room.inbox() == ["done", "parked", "parked", "parked"]

    async def test_k9_parks_a_message_that_comes_again_once(self, room: Room) -> None:
        await room.consumer.hear([a_record(version=1), a_record(version=2)])

        assert len(await room.parked()) == 3

    async def test_does_not_park_what_is_done(self, room: Room) -> None:
        room.notes.poison = {"b"}
        await room.consumer.hear([a_record("b")])

        assert {p["key"] for p in await room.parked()} == {"a"}

    async def test_tells_undecodable_messages_without_an_id_apart(self, room: Room) -> None:
        for value in (b"{", b"[", b"{"):
            await room.consumer.hear([a_record("c", value=value)])

        assert [p["value"] for p in await room.parked() if p["key"] == "c"] == ["{", "["]


class TestRelease:
    async def test_runs_it_again_and_then_what_waited_behind_it(self, room: Room) -> None:
        room.notes.poison = set()

        assert await room.operator.release((await room.parked())[0]["id"])
        await room.settle()

        assert await room.notes.kept() == [("b", 1), ("a", 1), ("a", 2), ("a", 3)]
        assert await room.parked() == []
        assert await room.inbox() == ["done"] * 4

    async def test_parks_it_again_when_it_fails_again(self, room: Room) -> None:
        assert await room.operator.release((await room.parked())[0]["id"])
        await room.settle()

        assert [p["state"] for p in await room.parked()] == ["parked"] * 3
        assert await room.inbox() == ["done", "parked", "parked", "parked"]

    async def test_nothing_runs_before_a_person_says_so(self, room: Room) -> None:
        room.notes.poison = set()

        assert await room.releasing() is False

    async def test_acts_once_when_it_is_delivered_again_meanwhile(self, room: Room) -> None:
        room.notes.poison = set()
        await room.operator.release((await room.parked())[0]["id"])

        await room.consumer.hear([a_record(version=1)])
        await room.settle()

        assert await room.notes.kept() == [("b", 1), ("a", 1), ("a", 2), ("a", 3)]

    async def test_there_is_no_such_message(self, room: Room) -> None:
        assert not await room.operator.release(999)


class TestDrop:
    async def test_gives_one_up_and_runs_what_waited_behind_it(self, room: Room) -> None:
        room.notes.poison = set()

        assert await room.operator.drop((await room.parked())[0]["id"])
        await room.settle()

        assert await room.notes.kept() == [("b", 1), ("a", 2), ("a", 3)]
        assert await room.inbox() == ["done", "done", "done", "parked"]
