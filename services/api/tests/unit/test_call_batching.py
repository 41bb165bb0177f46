"""Concurrent calls are batched."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from swap_api.call_batching import CallBatcher


class DoubleNumbers:
    """Doubles numbers after it is released, and refuses odd ones."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []
        self.release = asyncio.Event()
        self.release.set()

    async def __call__(self, numbers: Sequence[int]) -> Sequence[int | Exception]:
        self.batches.append(numbers)
        await self.release.wait()
        return [ValueError(n) if n % 2 else n * 2 for n in numbers]


class TestGathering:
    async def test_sends_a_single_call_immediately(self) -> None:
        run = DoubleNumbers()

        assert await CallBatcher(run, batch_max=10)(4) == 8
        assert run.batches == [[4]]

    async def test_batches_calls_that_arrive_during_a_run(self) -> None:
        run = DoubleNumbers()
        run.release.clear()
        gathering: CallBatcher[int, int] = CallBatcher(run, batch_max=3)
        calls = [asyncio.create_task(gathering(n * 2)) for n in range(8)]
        await asyncio.sleep(0)
        run.release.set()

        assert await asyncio.gather(*calls) == [n * 4 for n in range(8)]
        assert max(len(batch) for batch in run.batches) == 3

    async def test_gives_each_call_its_own_error(self) -> None:
        run = DoubleNumbers()
        gathering: CallBatcher[int, int] = CallBatcher(run, batch_max=10)

        answers = await asyncio.gather(*(gathering(n) for n in range(4)), return_exceptions=True)

        assert [str(answer) for answer in answers] == ["0", "1", "4", "3"]

    async def test_answers_a_call_that_follows_on_an_answer_without_a_pause(self) -> None:
        gathering: CallBatcher[int, int] = CallBatcher(DoubleNumbers(), batch_max=10)

        async with asyncio.timeout(5):
            for n in range(0, 200, 2):
                assert await gathering(n) == 2 * n

    async def test_raises_the_error_of_a_run_in_every_call(self) -> None:
        async def fail(_: Sequence[int]) -> Sequence[int | Exception]:
            raise RuntimeError("no")

        gathering: CallBatcher[int, int] = CallBatcher(fail, batch_max=10)
        for n in range(2):
            with pytest.raises(RuntimeError, match="no"):
                await gathering(n)

    async def test_survives_a_caller_that_disconnects(self) -> None:
        run = DoubleNumbers()
        run.release.clear()
        gathering: CallBatcher[int, int] = CallBatcher(run, batch_max=10)
        gone, stays = (asyncio.create_task(gathering(n)) for n in (2, 4))
        await asyncio.sleep(0)
        gone.cancel()
        run.release.set()

        assert await stays == 8
