"""What was sent is marked beside the sending, and what left meanwhile together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Final, Protocol

from swap_chains.ports import Broadcast
from swap_runtime.errors import Unavailable
from swap_runtime.resting import Resting
from swap_settler.usecases.mark_sent import MarkSent, taken

BEAT_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 1.0
REST: Final = timedelta(milliseconds=250)


class HearsAnswers(Protocol):
    """Who is told what nodes answered."""

    async def answered(self, network: str, answers: Sequence[Broadcast]) -> None: ...


class TellSent:
    """Takes what nodes answered, and marks it in transactions of its own.

    What a crash takes from here is sent again by the rebroadcast, and marked then.
    """

    def __init__(self, mark_sent: MarkSent, *, now: Callable[[], float] = monotonic) -> None:
        """
        :param now: seconds, since whenever.
        """
        self._mark_sent = mark_sent
        self._now = now
        self._resting = Resting(REST)
        self._sent_at: dict[str, float] = {}
        self._has_some = asyncio.Event()

    async def answered(self, network: str, answers: Sequence[Broadcast]) -> None:
        """Take the answers; whoever sent goes on."""
        self._sent_at |= dict.fromkeys(taken(network, answers), self._now())
        if self._sent_at:
            self._has_some.set()

    async def __call__(self) -> None:
        """Mark what waits, as soon as something does, and rest; return after a while without.

        :raises Unavailable: when Postgres is away; what waited still does.
        """
        try:
            async with asyncio.timeout(BEAT_SECONDS):
                await self._has_some.wait()
        except TimeoutError:
            return
        self._has_some.clear()
        self._resting.begin()
        sent_at, self._sent_at = self._sent_at, {}
        now = self._now()
        try:
            await self._mark_sent({h: timedelta(seconds=now - at) for h, at in sent_at.items()})
        except Unavailable:
            self._sent_at = sent_at | self._sent_at
            self._has_some.set()
            await asyncio.sleep(RETRY_SECONDS)
            raise
        await self._resting.rest()
