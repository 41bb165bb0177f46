from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from libs.runtime.tests.fakes import NOTES, FakeParking, Note, a_record
from swap_contracts.envelope import Envelope
from swap_runtime.errors import Unavailable
from swap_runtime.messaging.batches import BEHIND, Batches, TooManyParked
from swap_runtime.telemetry.metrics import REGISTRY

VALUES = [f"{n}" for n in range(20)]
POISON = "13"


class UseCase:
    """Commits a whole batch or nothing, as a use case does."""

    def __init__(self, poison: Iterable[str] = (POISON,)) -> None:
        self._poison = frozenset(poison)
        self.done: list[tuple[str, int]] = []

    async def __call__(self, messages: Sequence[Envelope[Note]]) -> None:
        if any(m.body.thing in self._poison for m in messages):
            raise ValueError("poison")
        self.done += [(m.body.thing, m.body.version) for m in messages]


class TestBatches:
    @pytest.mark.fault("K7")
    async def test_k7_parks_what_cannot_be_decoded_and_runs_the_rest_at_once(self) -> None:
        usecase, parking = UseCase(), FakeParking()
        batches = Batches(NOTES, usecase, parking)

        await batches([a_record("1"), a_record("2", value=b"\xff{"), a_record("3")])

        assert usecase.done == [("1", 1), ("3", 1)]
        assert [value for value, _ in parking.parked] == [b"\xff{"]

    @pytest.mark.fault("K6")
    async def test_k6_halves_a_failing_batch_until_the_poison_stands_alone(self) -> None:
        usecase, parking = UseCase(), FakeParking()
        batches = Batches(NOTES, usecase, parking)

        await batches([a_record(thing) for thing in VALUES])

        assert usecase.done == [(thing, 1) for thing in VALUES if thing != POISON]
        assert [reason for _, reason in parking.parked] == ["ValueError: poison"]

    async def test_parks_later_messages_of_the_key_behind_it(self) -> None:
        usecase, parking = UseCase(), FakeParking()
        batches = Batches(NOTES, usecase, parking)

        await batches([a_record("1"), a_record(POISON), a_record("2"), a_record(POISON, version=2)])

        assert usecase.done == [("1", 1), ("2", 1)]
        assert [reason for _, reason in parking.parked] == ["ValueError: poison", BEHIND]

    async def test_runs_what_came_before_an_undecodable_message_of_its_key(self) -> None:
        usecase, parking = UseCase(), FakeParking()
        batches = Batches(NOTES, usecase, parking)

        undecodable = a_record("1", version=2, value=b"{")
        await batches([a_record(POISON), a_record("1"), undecodable, a_record("1", version=3)])

        assert usecase.done == [("1", 1)]
        assert [reason for _, reason in parking.parked].count(BEHIND) == 1

    async def test_parks_behind_a_message_of_an_earlier_batch(self) -> None:
        usecase, parking = UseCase(), FakeParking(held=[b"1"])
        batches = Batches(NOTES, usecase, parking)

        await batches([a_record("1", version=2), a_record("2")])

        assert usecase.done == [("2", 1)]
        assert [reason for _, reason in parking.parked] == [BEHIND]

    async def test_parks_no_message_while_the_database_is_down(self) -> None:
        async def down(_: Sequence[Envelope[Note]]) -> None:
            raise Unavailable("postgres")

        parking = FakeParking()
        with pytest.raises(Unavailable):
            await Batches(NOTES, down, parking)([a_record("1"), a_record("2")])

        assert parking.parked == []

    async def test_stops_when_one_after_the_other_cannot_work(self) -> None:
        parking = FakeParking()
        batches = Batches(NOTES, UseCase(VALUES), parking, parked_in_a_row_max=3)

        with pytest.raises(TooManyParked):
            await batches([a_record(thing) for thing in VALUES])

        assert len(parking.parked) == 4


class TestHandlingTime:
    async def test_is_counted_once_for_a_batch_that_is_done(self) -> None:
        ticks = iter((10.0, 10.5))
        batches = Batches(NOTES, UseCase(()), FakeParking(), timer=lambda: next(ticks))
        before = [handling_time("count"), handling_time("sum")]

        await batches([a_record("1"), a_record("2")])

        after = [handling_time("count"), handling_time("sum")]
        assert [now - then for now, then in zip(after, before, strict=True)] == [1, 0.5]


def handling_time(end: str) -> float:
    name = f"swap_messages_handling_seconds_{end}"
    return REGISTRY.get_sample_value(name, {"topic": NOTES.name}) or 0
