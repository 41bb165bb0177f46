from __future__ import annotations

import pytest

from swap_runtime.errors import Unavailable
from swap_runtime.supervision import Beat, Supervised, TaskGaveUp


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swap_runtime.supervision.PAUSES", (0,))


class Failing:
    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    async def __call__(self, beat: Beat) -> None:
        if self._errors:
            raise self._errors.pop(0)


class TestSupervised:
    async def test_starts_a_task_again_that_raised(self) -> None:
        task = Supervised("x", Failing(ValueError(), ValueError()), failures_max=3)

        await task.keep_running()

    async def test_gives_up_after_too_many_failures_in_a_row(self) -> None:
        task = Supervised("x", Failing(*[ValueError()] * 3), failures_max=3)

        with pytest.raises(TaskGaveUp, match="x"):
            await task.keep_running()

    async def test_waits_as_long_as_it_takes_for_what_is_unavailable(self) -> None:
        task = Supervised("x", Failing(*[Unavailable("postgres")] * 50), failures_max=3)

        await task.keep_running()
