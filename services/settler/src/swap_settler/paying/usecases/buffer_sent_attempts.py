"""Broadcast attempts are marked as sent in the background, in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Final, Protocol

from swap_chains.ports import Broadcast
from swap_runtime.errors import Unavailable
from swap_runtime.loop_pacing import LoopPacing
from swap_settler.paying.usecases.mark_sent import MarkSent, unrefused_hashes

BEAT_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 1.0
REST: Final = timedelta(milliseconds=250)


class BroadcastResultListener(Protocol):
    """Receives the nodes' answers to a broadcast."""

    async def record_results(self, network: str, answers: Sequence[Broadcast]) -> None: ...


class BufferSentAttempts:
    """Buffers broadcast results and marks the attempts in its own transactions.

    Attempts that a crash removes from the buffer are rebroadcast, and marked then.
    """

    def __init__(self, mark_sent: MarkSent, *, now: Callable[[], float] = monotonic) -> None:
        """
        :param now: seconds, since whenever.
        """
        self._mark_sent = mark_sent
        self._now = now
        self._pacing = LoopPacing(REST)
        self._sent_at: dict[str, float] = {}
        self._has_attempts = asyncio.Event()

    async def record_results(self, network: str, answers: Sequence[Broadcast]) -> None:
        """Buffer the results; the sender does not wait for the database."""
        self._sent_at |= dict.fromkeys(unrefused_hashes(network, answers), self._now())
        if self._sent_at:
            self._has_attempts.set()

    async def __call__(self) -> None:
        """Mark the buffered attempts as soon as there are any, then pause; return when idle.

        :raises Unavailable: when Postgres is unavailable; the attempts stay buffered.
        """
        try:
            async with asyncio.timeout(BEAT_SECONDS):
                await self._has_attempts.wait()
        except TimeoutError:
            return
        self._has_attempts.clear()
        self._pacing.begin()
        sent_at, self._sent_at = self._sent_at, {}
        now = self._now()
        try:
            await self._mark_sent({h: timedelta(seconds=now - at) for h, at in sent_at.items()})
        except Unavailable:
            self._sent_at = sent_at | self._sent_at
            self._has_attempts.set()
            await asyncio.sleep(RETRY_SECONDS)
            raise
        await self._pacing.pause()
