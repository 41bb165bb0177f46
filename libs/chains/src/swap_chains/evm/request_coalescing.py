"""What several ask of a node in the same turn of the event loop leaves in one request.

A request over HTTP costs more than most questions in it, on both sides. Who asks together waits
together, and is without an answer together: it is for one piece of work that asks several things.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

Ask = Callable[[Sequence[Any]], Awaitable[list[Any]]]


class _Asked(NamedTuple):
    requests: Sequence[Any]
    answers: asyncio.Future[list[Any]]


class Together:
    """Gathers questions until the turn is over."""

    def __init__(self, ask: Ask, *, may_be_one: tuple[type[Exception], ...]) -> None:
        """
        :param may_be_one: what a node answers to all when it may mean one; each asks again alone.
        """
        self._ask = ask
        self._may_be_one = may_be_one
        self._waiting: list[_Asked] = []
        self._leaving: set[asyncio.Task[None]] = set()

    async def __call__(self, requests: Sequence[Any]) -> list[Any]:
        """Return the answers to these questions; raises what `ask` does."""
        loop = asyncio.get_running_loop()
        asked = _Asked(requests, loop.create_future())
        if not self._waiting:
            loop.call_soon(self._leave)
        self._waiting.append(asked)
        return await asked.answers

    def _leave(self) -> None:
        waiting = [asked for asked in self._waiting if not asked.answers.done()]
        self._waiting = []
        if not waiting:
            return
        # Who is cancelled from here on does not take the others' answers away.
        task = asyncio.get_running_loop().create_task(self._answer(waiting))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _answer(self, waiting: Sequence[_Asked]) -> None:
        try:
            answers = await self._ask([one for asked in waiting for one in asked.requests])
        except self._may_be_one as error:
            if len(waiting) == 1:
                _fail(waiting, error)
            else:
                await asyncio.gather(*(self._answer([asked]) for asked in waiting))
        except Exception as error:
            _fail(waiting, error)
        except asyncio.CancelledError:
            for asked in waiting:
                asked.answers.cancel()
            raise
        else:
            _share(waiting, answers)


def _share(waiting: Sequence[_Asked], answers: Sequence[Any]) -> None:
    start = 0
    for requests, answer in waiting:
        end = start + len(requests)
        if not answer.done():
            answer.set_result(list(answers[start:end]))
        start = end


def _fail(waiting: Sequence[_Asked], error: Exception) -> None:
    for _, answer in waiting:
        if not answer.done():
            answer.set_exception(error)
