"""What several ask of a node in the same turn of the event loop leaves in one request.

A request over HTTP costs more than most questions in it, on both sides. Combined queries wait
together and fail together: use it for one piece of work with several queries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

Ask = Callable[[Sequence[Any]], Awaitable[list[Any]]]


class _PendingCall(NamedTuple):
    requests: Sequence[Any]
    answers: asyncio.Future[list[Any]]


class RequestCoalescer:
    """Gathers questions until the turn is over."""

    def __init__(self, ask: Ask, *, retry_alone_on: tuple[type[Exception], ...]) -> None:
        """
        :param retry_alone_on: errors of a batch that one call may cause; each is sent alone.
        """
        self._ask = ask
        self._retry_alone_on = retry_alone_on
        self._calls: list[_PendingCall] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, requests: Sequence[Any]) -> list[Any]:
        """Return the answers to these questions; raises what `ask` does."""
        loop = asyncio.get_running_loop()
        call = _PendingCall(requests, loop.create_future())
        if not self._calls:
            loop.call_soon(self._send)
        self._calls.append(call)
        return await call.answers

    def _send(self) -> None:
        calls = [call for call in self._calls if not call.answers.done()]
        self._calls = []
        if not calls:
            return
        # Who is cancelled from here on does not take the others' answers away.
        task = asyncio.get_running_loop().create_task(self._answer(calls))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, calls: Sequence[_PendingCall]) -> None:
        try:
            answers = await self._ask([request for call in calls for request in call.requests])
        except self._retry_alone_on as error:
            if len(calls) == 1:
                _fail(calls, error)
            else:
                await asyncio.gather(*(self._answer([call]) for call in calls))
        except Exception as error:
            _fail(calls, error)
        except asyncio.CancelledError:
            for call in calls:
                call.answers.cancel()
            raise
        else:
            _share(calls, answers)


def _share(calls: Sequence[_PendingCall], answers: Sequence[Any]) -> None:
    start = 0
    for requests, answer in calls:
        end = start + len(requests)
        if not answer.done():
            answer.set_result(list(answers[start:end]))
        start = end


def _fail(calls: Sequence[_PendingCall], error: Exception) -> None:
    for _, answer in calls:
        if not answer.done():
            answer.set_exception(error)
