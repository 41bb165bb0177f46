from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from libs.runtime.tests.fakes import NOTES, KeepNotes, Note, a_note, a_parking, a_record
from swap_contracts.envelope import Envelope
from swap_runtime.messaging.batches import Batches
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.parked_routes import ParkedRoutes
from swap_runtime.messaging.parking import PARK
from swap_runtime.messaging.records import Record
from swap_runtime.messaging.releasing import Releasing
from swap_runtime.postgres.database import Engine, transaction
from swap_runtime.postgres.sql import sql
from tests.support.locks import until_blocked

pytestmark = pytest.mark.connected


class Consumption:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.notes = KeepNotes(engine)
        self.parking = a_parking(engine)
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


def values_parked(record: Record) -> dict[str, object]:
    """Return the parameters of `PARK` for it."""
    return {
        "consumer": "test",
        "topic": record.topic,
        "key": record.key,
        "value": record.value,
        "partition": record.partition,
        "offset": record.offset,
        "message_id": a_note(version=1).message_id,
        "reason": "poison",
        "is_behind": False,
    }


@pytest.fixture
async def consumption(engine: Engine) -> Consumption:
    """Version 1 of a thing is parked; versions 2 and 3 are held behind it."""
    consumption = Consumption(engine)
    consumption.notes.poison = {"a"}
    await consumption.consumer.receive([a_record(version=1), a_record("b")])
    await consumption.consumer.receive([a_record(version=2), a_record(version=3)])
    return consumption


class TestPostgresParking:
    async def test_list_goes_on_behind_the_place_of_a_message(
        self, consumption: Consumption
    ) -> None:
        whole, pages, after = await consumption.parked(), [], None
        operator = consumption.operator
        while page := await operator.list_parked(state=None, topic=None, after=after, limit=2):
            pages.append(page)
            parked_at = datetime.fromisoformat(str(page[-1]["parked_at"]))
            after = parked_at, int(str(page[-1]["id"]))

        assert [len(page) for page in pages] == [2, 1]
        assert [row for page in pages for row in page] == whole

    async def test_keeps_the_order_of_a_key_behind_its_poison(
        self, consumption: Consumption
    ) -> None:
        parked = await consumption.parked()

        assert [(p["is_behind"], p["key"]) for p in parked] == [
            (False, "a"),
            (True, "a"),
            (True, "a"),
        ]
        assert await consumption.notes.stored_notes() == [("b", 1)]
        assert await consumption.inbox() == ["done", "parked", "parked", "parked"]

    @pytest.mark.fault("K9")
    async def test_k9_parks_a_repeated_message_once(self, consumption: Consumption) -> None:
        await consumption.consumer.receive([a_record(version=1), a_record(version=2)])

        assert len(await consumption.parked()) == 3

    async def test_does_not_park_what_is_done(self, consumption: Consumption) -> None:
        consumption.notes.poison = {"b"}
        await consumption.consumer.receive([a_record("b")])

        assert {p["key"] for p in await consumption.parked()} == {"a"}

    async def test_parked_message_is_shown_by_its_id_in_every_state(
        self, consumption: Consumption
    ) -> None:
        await consumption.consumer.receive([a_record(version=1)])
        [first, *_] = await consumption.parked()
        await consumption.operator.drop(int(first["id"]))

        shown = await consumption.operator.find_parked(int(first["id"]))

        assert shown is not None
        assert (shown["id"], shown["state"]) == (first["id"], "dropped")
        assert await consumption.operator.find_parked(-1) is None

    async def test_distinguishes_undecodable_messages_without_an_id(
        self, consumption: Consumption
    ) -> None:
        for value in (b"{", b"[", b"{"):
            await consumption.consumer.receive([a_record("c", value=value)])

        assert [p["value"] for p in await consumption.parked() if p["key"] == "c"] == ["{", "["]


class TestGuarding:
    async def test_looks_where_a_batch_is_marked_and_waits_for_nothing_more(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        await Consumption(engine).consumer.receive([a_record()])

        assert round_trips == [3, 1, 1]  # BEGIN with mark and look-up, the note, COMMIT

    async def test_of_what_is_behind_nothing_is_done_whatever_comes_with_it(
        self, consumption: Consumption
    ) -> None:
        consumption.notes.poison = set()

        await consumption.consumer.receive([a_record("c"), a_record(version=4), a_record("d")])

        assert await consumption.notes.stored_notes() == [("b", 1), ("c", 1), ("d", 1)]
        assert [p["is_behind"] for p in await consumption.parked()] == [False, True, True, True]

    async def test_waiting_and_unreadable_messages_keep_their_order(
        self, consumption: Consumption
    ) -> None:
        consumption.notes.poison = set()

        await consumption.consumer.receive([a_record(version=4), a_record(version=5, value=b"{")])

        assert [p["is_behind"] for p in await consumption.parked()][3:] == [True, False]

    async def test_message_before_an_unreadable_one_is_not_behind_it(self, engine: Engine) -> None:
        consumption = Consumption(engine)

        await consumption.consumer.receive(
            [a_record(version=1), a_record("b"), a_record(value=b"{")]
        )

        assert sorted(await consumption.notes.stored_notes()) == [("a", 1), ("b", 1)]
        assert [p["is_behind"] for p in await consumption.parked()] == [False]

    async def test_message_that_fails_behind_a_parked_one_waits_behind_it(
        self, consumption: Consumption
    ) -> None:
        await consumption.consumer.receive([a_record(version=4)])

        assert [p["is_behind"] for p in await consumption.parked()] == [False, True, True, True]

    async def test_sees_what_another_parks_while_the_same_message_is_marked(
        self, engine: Engine
    ) -> None:
        consumption, first = Consumption(engine), a_record(version=1)
        async with transaction(engine) as another:
            await another.execute(PARK, values_parked(first))
            hearing = asyncio.create_task(
                consumption.consumer.receive([first, a_record(version=2)])
            )
            await until_blocked(engine)
        await hearing

        assert await consumption.notes.stored_notes() == []
        assert [p["is_behind"] for p in await consumption.parked()] == [False, True]

    async def test_finds_a_use_case_that_does_not_mark(
        self, consumption: Consumption, engine: Engine
    ) -> None:
        async def forgets(_: Sequence[Envelope[Note]]) -> None: ...

        await Batches(NOTES, forgets, consumption.parking)([a_record("c")])

        assert (await consumption.parked())[-1]["reason"] == "MessagesNotMarked: notes.v1"


class TestRelease:
    async def test_runs_it_again_and_then_what_waited_behind_it(
        self, consumption: Consumption
    ) -> None:
        consumption.notes.poison = set()

        assert await consumption.operator.release((await consumption.parked())[0]["id"])
        await consumption.settle()

        assert await consumption.notes.stored_notes() == [("b", 1), ("a", 1), ("a", 2), ("a", 3)]
        assert await consumption.parked() == []
        assert await consumption.inbox() == ["done"] * 4

    @pytest.mark.fault("K8")
    async def test_parks_it_again_when_it_fails_again(self, consumption: Consumption) -> None:
        assert await consumption.operator.release((await consumption.parked())[0]["id"])
        await consumption.settle()

        assert [p["state"] for p in await consumption.parked()] == ["parked"] * 3
        assert await consumption.inbox() == ["done", "parked", "parked", "parked"]

    @pytest.mark.fault("K8")
    async def test_release_without_a_confirmed_message_handles_none(
        self, consumption: Consumption
    ) -> None:
        consumption.notes.poison = set()

        assert await consumption.releasing() is False

    async def test_acts_once_when_it_is_delivered_again_meanwhile(
        self, consumption: Consumption
    ) -> None:
        consumption.notes.poison = set()
        await consumption.operator.release((await consumption.parked())[0]["id"])

        await consumption.consumer.receive([a_record(version=1)])
        await consumption.settle()

        assert await consumption.notes.stored_notes() == [("b", 1), ("a", 1), ("a", 2), ("a", 3)]

    async def test_of_one_that_comes_again_just_then_does_not_lose_it(
        self, consumption: Consumption, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        consumption.notes.poison = set()
        await consumption.operator.release((await consumption.parked())[0]["id"])
        handle_alone = consumption.consumer.handle_alone

        async def after_a_copy(value: bytes) -> None:
            monkeypatch.undo()
            await consumption.consumer.receive([a_record(version=1)])
            await handle_alone(value)

        monkeypatch.setattr(consumption.consumer, "handle_alone", after_a_copy)
        await consumption.settle()

        assert await consumption.notes.stored_notes() == [("b", 1), ("a", 1), ("a", 2), ("a", 3)]

    async def test_there_is_no_such_message(self, consumption: Consumption) -> None:
        assert not await consumption.operator.release(999)


class TestDrop:
    async def test_gives_one_up_and_runs_what_waited_behind_it(
        self, consumption: Consumption
    ) -> None:
        consumption.notes.poison = set()

        assert await consumption.operator.drop((await consumption.parked())[0]["id"])
        await consumption.settle()

        assert await consumption.notes.stored_notes() == [("b", 1), ("a", 2), ("a", 3)]
        assert await consumption.inbox() == ["done", "done", "done", "parked"]
