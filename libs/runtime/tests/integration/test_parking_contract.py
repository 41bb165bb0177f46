"""The behaviour of parking: one suite for the fake and for the `parked` table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from libs.runtime.tests.fakes import NOTES, REASON_MAX, FakeParking, a_note, a_parking, a_record
from swap_runtime.messaging.inbox import mark_seen
from swap_runtime.messaging.parking import Behind, Parking
from swap_runtime.messaging.records import Record
from swap_runtime.postgres.database import Engine, reading, transaction
from swap_runtime.postgres.sql import sql

POISON = "ValueError: poison"
PARKED = sql("SELECT value, reason FROM parked ORDER BY id")
UNREADABLE = replace(a_record(value=b"{"), message_id=None)


class Subject:
    """Parking, parked messages, and a use case that marks its messages."""

    def __init__(self, parking: Parking, engine: Engine | None = None) -> None:
        self.parking = parking
        self._engine = engine

    async def parked(self) -> list[tuple[bytes, str]]:
        if self._engine is None:
            assert isinstance(self.parking, FakeParking)
            return self.parking.parked
        async with reading(self._engine) as connection:
            rows = await connection.execute(PARKED)
        return [(bytes(row.value), row.reason) for row in rows]

    async def handle(self, *records: Record) -> None:
        with self.parking.guarding(NOTES.name, records):
            if self._engine is not None:
                ids = [a_note(r.key.decode(), version=r.offset).message_id for r in records]
                async with transaction(self._engine) as connection:
                    await mark_seen(connection, "test", ids)

    async def held_keys(
        self, keys: Sequence[bytes], *, topic: str = NOTES.name
    ) -> frozenset[bytes]:
        return await self.parking.held_keys(topic, keys)


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.connected)])
def subject(request: pytest.FixtureRequest) -> Subject:
    if request.param == "fake":
        return Subject(FakeParking())
    engine = request.getfixturevalue("engine")
    return Subject(a_parking(engine), engine)


async def test_new_consumer_holds_no_keys(subject: Subject) -> None:
    assert await subject.held_keys([b"a", b"b"]) == frozenset()
    await subject.handle(a_record("a"), a_record("b"))
    assert await subject.parked() == []


@pytest.mark.parametrize("is_behind", [False, True], ids=["poison", "behind"])
async def test_a_parked_message_holds_its_key(subject: Subject, is_behind: bool) -> None:
    first = a_record("a")
    message_id = a_note("a").message_id
    await subject.parking.park(first, message_id, reason=POISON, is_behind=is_behind)

    assert await subject.held_keys([b"a", b"b"]) == {b"a"}
    with pytest.raises(Behind):
        await subject.handle(a_record("b"), a_record("a", version=2))
    await subject.handle(a_record("b"))


async def test_a_parked_message_holds_no_key_of_another_topic(subject: Subject) -> None:
    await subject.parking.park(a_record("a"), a_note("a").message_id, reason=POISON)

    assert await subject.held_keys([b"a"], topic="others.v1") == frozenset()


async def test_a_message_is_parked_once(subject: Subject) -> None:
    for reason in (POISON, "another reason"):
        await subject.parking.park(a_record("a"), a_note("a").message_id, reason=reason)

    assert await subject.parked() == [(a_record("a").value, POISON)]


async def test_a_message_without_an_id_is_parked_once_by_its_bytes(subject: Subject) -> None:
    other = replace(UNREADABLE, value=b"{{")
    for record in (UNREADABLE, other, replace(UNREADABLE, offset=9)):
        await subject.parking.park(record, None, reason=POISON)

    assert await subject.parked() == [(b"{", POISON), (b"{{", POISON)]


async def test_a_long_reason_is_cut(subject: Subject) -> None:
    await subject.parking.park(UNREADABLE, None, reason="x" * (REASON_MAX + 1))

    assert await subject.parked() == [(b"{", "x" * REASON_MAX)]


async def test_records_of_the_outbox_are_verified(subject: Subject) -> None:
    records = [a_record("a"), a_record("b")]

    assert list(await subject.parking.select_verified(NOTES.name, records)) == records
