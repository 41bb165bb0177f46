"""Calls that come at the same time go to the database together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class CallBatcher(Generic[Question, Answer]):
    """Runs calls in batches: while one is under way, the next ones gather.

    A single call runs at once; under load a batch is as large as what arrived meanwhile.
    The batch answers each of its calls with a value or with an error.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Question]], Awaitable[Sequence[Answer | Exception]]],
        *,
        batch_max: int,
        concurrent_batches_max: int = 1,
    ) -> None:
        self._run = run
        self._batch_max = batch_max
        self._concurrent_batches_max = concurrent_batches_max
        self._pending: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._running = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending.append((question, answer))
        if self._running < self._concurrent_batches_max:
            self._running += 1
            task = asyncio.create_task(self._run_batches())
            self._tasks.add(task)  # the loop has only a weak reference
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _run_batches(self) -> None:
        """Run batches until no call waits. It ends in the same step that finds none."""
        try:
            while self._pending:
                await self._run_batch()
        finally:
            self._running -= 1

    async def _run_batch(self) -> None:
        size = min(len(self._pending), self._batch_max)
        batch = [self._pending.popleft() for _ in range(size)]
        try:
            answers = await self._run([question for question, _ in batch])
        except Exception as error:
            answers = [error] * size
        except BaseException:
            for _, future in batch:
                future.cancel()
            raise
        for (_, future), answer in zip(batch, answers, strict=True):
            _resolve(future, answer)


def _resolve(future: asyncio.Future[Answer], answer: Answer | Exception) -> None:
    if future.done():  # its caller went away
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
