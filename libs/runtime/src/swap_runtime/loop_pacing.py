"""Pauses of a loop: as long as it worked, longer where latency does not matter.

Most of what a batch costs does not depend on its size: statements, commits, turns of the event
loop. A loop without pauses takes the two messages that came meanwhile and pays all of it for them.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from time import monotonic
from typing import Final

PAUSE_SECONDS_MAX: Final = 0.1
# A loop gathers messages when more than this come in this time.
GATHER_SECONDS: Final = 0.25
GATHERED_MIN: Final = 8
# Most of what larger batches cost is the cost of their messages.
BATCH_WANTED: Final = 50


class LoopPacing:
    """The work and the pauses of one loop."""

    def __init__(self, at_least: timedelta | None = None) -> None:
        """
        :param at_least: None: as long as the work took. Zero: no pause, for a loop that a payout
            waits for.
        """
        self._at_least = 0.0 if at_least is None else at_least.total_seconds()
        self._has_no_pause = at_least == timedelta(0)
        self._began = self._began_before = monotonic()

    def begin(self) -> None:
        """Begin a piece of work."""
        self._began_before, self._began = self._began, monotonic()

    async def pause(self, received: int = 0) -> None:
        """Wait as long as it is since `begin`: at most a tenth of a second, but `at_least`.

        :param received: how many messages came since the pause before. While they come quickly,
            the pause lasts until a good batch has come.
        """
        if self._has_no_pause:
            return
        worked = min(monotonic() - self._began, PAUSE_SECONDS_MAX)
        await asyncio.sleep(max(worked, self._at_least, self._gathering_seconds(received)))

    def _gathering_seconds(self, received: int) -> float:
        """Return how long a good batch takes at the pace of the last; 0 while few come."""
        since = self._began - self._began_before
        if received * GATHER_SECONDS <= GATHERED_MIN * since:
            return 0.0
        return min(BATCH_WANTED * since / received, GATHER_SECONDS)
