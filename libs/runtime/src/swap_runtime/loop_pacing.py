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


class LoopPacing:
    """The work and the pauses of one loop."""

    def __init__(self, at_least: timedelta | None = None) -> None:
        """
        :param at_least: zero for a loop that a payout waits for: it does not pause at all.
        """
        self._at_least = 0.0 if at_least is None else at_least.total_seconds()
        self._is_hurried = at_least == timedelta(0)
        self._began = monotonic()

    def begin(self) -> None:
        """Begin a piece of work."""
        self._began = monotonic()

    async def pause(self) -> None:
        """Wait as long as it is since `begin`: at most a tenth of a second, at least as agreed."""
        if self._is_hurried:
            return
        worked = min(monotonic() - self._began, PAUSE_SECONDS_MAX)
        await asyncio.sleep(max(worked, self._at_least))
