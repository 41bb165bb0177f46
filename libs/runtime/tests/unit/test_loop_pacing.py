from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from swap_runtime import loop_pacing
from swap_runtime.loop_pacing import BATCH_WANTED, GATHER_SECONDS, PAUSE_SECONDS_MAX, LoopPacing


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses, with a clock on which every piece of work took 40 ms."""
    slept: list[float] = []
    clock = iter(number * 0.04 for number in range(100))

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds, 3))

    monkeypatch.setattr(loop_pacing, "monotonic", lambda: next(clock))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    return slept


class TestResting:
    async def test_rests_as_long_as_it_worked(self, rests: list[float]) -> None:
        loop = LoopPacing()
        loop.begin()

        await loop.pause()

        assert rests == [0.04]

    async def test_rests_no_less_than_agreed(self, rests: list[float]) -> None:
        loop = LoopPacing(at_least=timedelta(seconds=1))
        loop.begin()

        await loop.pause()

        assert rests == [1.0]

    async def test_pause_after_long_work_is_limited(self, rests: list[float]) -> None:
        loop = LoopPacing()

        for _ in range(4):  # without a new start
            await loop.pause()

        assert rests[-1] == PAUSE_SECONDS_MAX

    async def test_loop_with_a_waiting_caller_does_not_pause(self, rests: list[float]) -> None:
        loop = LoopPacing(timedelta(0))
        loop.begin()

        await loop.pause()

        assert rests == []

    @pytest.mark.parametrize(
        ("received", "seconds"),
        [
            (1, 0.04),  # 25 a second: as long as the work
            (2, GATHER_SECONDS),  # 50 a second
            (10, BATCH_WANTED * 0.04 / 10),
            (100, 0.04),
        ],
    )
    async def test_rests_longer_while_messages_come_quickly(
        self, rests: list[float], received: int, seconds: float
    ) -> None:
        loop = LoopPacing()
        loop.begin()  # 40 ms after the batch before it

        await loop.pause(received)

        assert rests == [seconds]
