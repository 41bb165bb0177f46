from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from swap_runtime.errors import Unavailable
from swap_runtime.process import supervision
from swap_runtime.process.supervision import Beat, Rounds, SupervisedTask, TaskFailedTooOften


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swap_runtime.process.supervision.PAUSES", (0,))


class Failing:
    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.starts = 0

    async def __call__(self, beat: Beat) -> None:
        self.starts += 1
        if self._errors:
            raise self._errors.pop(0)


class TestSupervised:
    async def test_starts_a_task_again_that_raised(self) -> None:
        failing = Failing(ValueError(), ValueError())

        await SupervisedTask("x", failing, failures_max=3).keep_running()

        assert failing.starts == 3

    async def test_abandons_after_too_many_failures_in_a_row(self) -> None:
        task = SupervisedTask("x", Failing(*[ValueError()] * 3), failures_max=3)

        with pytest.raises(TaskFailedTooOften, match="x"):
            await task.keep_running()

    async def test_waits_as_long_as_it_takes_for_what_is_unavailable(self) -> None:
        failing = Failing(*[Unavailable("postgres")] * 50)

        await SupervisedTask("x", failing, failures_max=3).keep_running()

        assert failing.starts == 51


class TestRoundsThatWaitLong:
    async def test_report_their_health_continuously(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(supervision, "BEAT_INTERVAL", timedelta(milliseconds=5))
        beats, third = 0, asyncio.Event()

        def beat() -> None:
            nonlocal beats
            beats += 1
            if beats == 3:
                third.set()

        async def nothing_to_do() -> None:
            return None

        rounds = Rounds(timedelta(hours=1), nothing_to_do, wake=None)
        running = asyncio.create_task(rounds(beat))
        async with asyncio.timeout(20):
            await third.wait()
        rounds.stop()
        await running

        assert beats >= 3
