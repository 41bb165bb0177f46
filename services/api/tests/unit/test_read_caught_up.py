"""A read shows the decisions of its start, and is answered even if no message arrives."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from api_factories import AT, a_caller

from swap_api import observe
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.swaps import RenderedSwap, StoredSwap
from swap_api.read_model.usecases import read_caught_up
from swap_api.read_model.usecases.read_caught_up import ReadCaughtUp
from swap_runtime.errors import Unavailable

CALLER, ID = a_caller(), uuid4()
FIRST = StoredSwap(CALLER.app_id, AT, RenderedSwap(b"{}", (), None, "completed"), sequence=1)
BEHIND = replace(FIRST, decided_sequence=2)


class LookupResults:
    """The stored swap at each lookup; the last one is repeated."""

    def __init__(self, *lookups: StoredSwap | Exception) -> None:
        self._lookups = list(lookups)
        self.number = 0

    def set_results(self, *lookups: StoredSwap) -> None:
        self._lookups = list(lookups)

    async def find(self, swap_id: UUID) -> StoredSwap:
        lookup = self._lookups.pop(0) if len(self._lookups) > 1 else self._lookups[0]
        self.number += 1
        if isinstance(lookup, Exception):
            raise lookup
        return lookup


def reading(lookups: LookupResults, **limits: Any) -> ReadCaughtUp:
    return ReadCaughtUp(cast(PostgresSwaps, lookups), **limits)


def shown_behind(because: str) -> float:
    return float(observe.SHOWN_BEHIND.labels(because=because)._value.get())


@pytest.fixture
def without_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the pauses, so that a lookup precedes the timeout on a busy machine too."""
    monkeypatch.setattr(read_caught_up, "PAUSES_SECONDS", (0.0, 0.0))


class TestReadCaughtUp:
    async def test_waits_only_for_decisions_of_its_start(self) -> None:
        arrived = replace(FIRST, sequence=2, decided_sequence=3)
        lookups = LookupResults(BEHIND, BEHIND, arrived)

        assert await reading(lookups).by_id(CALLER, ID) == arrived
        assert lookups.number == 3

    async def test_shows_what_is_stored_after_a_while(self) -> None:
        before = shown_behind("nothing came")

        assert await reading(LookupResults(BEHIND), within_seconds=0.05).by_id(CALLER, ID) == BEHIND
        assert shown_behind("nothing came") == before + 1

    async def test_waits_for_the_same_no_second_time_until_later(self) -> None:
        now, lookups = [100.0], LookupResults(BEHIND)
        decided = reading(lookups, within_seconds=0.05, now=lambda: now[0])
        await decided.by_id(CALLER, ID)
        lookups_before, before = lookups.number, shown_behind("it did not come before")

        assert await decided.by_id(CALLER, ID) == BEHIND
        assert lookups.number == lookups_before + 1
        assert shown_behind("it did not come before") == before + 1

        now[0] += read_caught_up.LATE_SECONDS
        await decided.by_id(CALLER, ID)
        assert lookups.number > lookups_before + 2

    @pytest.mark.usefixtures("without_pause")
    async def test_waits_for_a_newer_decision_than_a_missing_one(self) -> None:
        newer = replace(BEHIND, decided_sequence=3)
        there = replace(newer, sequence=3)
        lookups = LookupResults(BEHIND)
        decided = reading(lookups, within_seconds=0.05)
        await decided.by_id(CALLER, ID)

        lookups.set_results(newer, there)
        assert await decided.by_id(CALLER, ID) == there

    @pytest.mark.usefixtures("without_pause")
    async def test_remembers_a_limited_number_of_missing_decisions(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(read_caught_up, "LATE_MAX", 2)
        lookups = LookupResults(BEHIND)
        decided = reading(lookups, within_seconds=0.03)
        first, *others = (uuid4() for _ in range(3))
        for swap_id in (first, *others):
            await decided.by_id(CALLER, swap_id)

        for swap_id in others:
            before = lookups.number
            await decided.by_id(CALLER, swap_id)
            assert lookups.number == before + 1
        before = lookups.number
        await decided.by_id(CALLER, first)
        assert lookups.number > before + 1

    async def test_shows_what_it_has_when_a_later_look_fails(self) -> None:
        lookups = LookupResults(BEHIND, Unavailable("postgres"))

        assert await reading(lookups).by_id(CALLER, ID) == BEHIND

    async def test_fails_when_the_first_look_does(self) -> None:
        with pytest.raises(Unavailable):
            await reading(LookupResults(Unavailable("postgres"))).by_id(CALLER, ID)

    async def test_lets_no_more_than_some_wait_and_gives_their_places_back(self) -> None:
        before = shown_behind("many wait")
        decided = reading(LookupResults(BEHIND), within_seconds=0.2, waiting_max=2)

        for _ in range(2):
            readings = [asyncio.create_task(decided.by_id(CALLER, ID)) for _ in range(5)]
            done, waiting = await asyncio.wait(readings, timeout=0.1)
            assert (len(done), len(waiting)) == (3, 2)
            for one in waiting:
                one.cancel()
            await asyncio.wait(waiting)

        assert shown_behind("many wait") == before + 6
