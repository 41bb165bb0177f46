"""A loop rests as long as it worked, longer where nobody waits for it; a hurried one does not.

What a batch costs is mostly its own: statements, commits, turns of the event loop. A loop that
begins again at once takes the two messages that have come meanwhile and pays all of it for them.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from time import monotonic
from typing import Final

PAUSE_SECONDS_MAX: Final = 0.1
# While messages come so quickly that many are gathered in this time, and not yet in a shorter one.
GATHER_SECONDS: Final = 0.25
GATHERED_MIN: Final = 8
BATCH_WANTED: Final = (
    50  # in a batch: what more it costs than one of half as many is its messages' own
)


class LoopPacing:
    """One loop's work and rest."""

    def __init__(self, at_least: timedelta | None = None) -> None:
        """
        :param at_least: zero for a loop that somebody waits for: it does not rest at all.
        """
        self._at_least = 0.0 if at_least is None else at_least.total_seconds()
        self._is_hurried = at_least == timedelta(0)
        self._began = self._began_before = monotonic()

    def begin(self) -> None:
        self._began_before, self._began = self._began, monotonic()

    async def pause(self, done: int = 0) -> None:
        """Wait as long as it is since `begin`, within reason, and no less than agreed.

        :param done: how many came since the rest before. While they come quickly, as long as it
            takes for a good batch to come.
        """
        if self._is_hurried:
            return
        worked = min(monotonic() - self._began, PAUSE_SECONDS_MAX)
        await asyncio.sleep(max(worked, self._at_least, self._gathering_seconds(done)))

    def _gathering_seconds(self, done: int) -> float:
        """Return how long to wait for a good batch, at the pace of the last; 0 where none comes."""
        since = self._began - self._began_before
        if done * GATHER_SECONDS <= GATHERED_MIN * since:
            return 0.0
        return min(BATCH_WANTED * since / done, GATHER_SECONDS)
