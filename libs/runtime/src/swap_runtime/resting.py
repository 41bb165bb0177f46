"""A loop rests in proportion to its work, the longer the less anybody waits for it.

What a batch costs is mostly its own: statements, commits, turns of the event loop. A loop that
begins again at once takes the two messages that have come meanwhile and pays all of it for them.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from time import monotonic
from typing import Final

REST_SECONDS_MAX: Final = 0.1
# Who is not waited for works a quarter of its time: the machine is left to those who are. They do
# not rest: what comes while they work is enough for a batch.
UNHURRIED: Final = 3
HURRIED: Final = 0


class Resting:
    """One loop's work and rest."""

    def __init__(self, at_least: timedelta = timedelta(0), *, times: int = 1) -> None:
        """
        :param times: how many times as long as it worked it rests.
        """
        self._at_least = at_least.total_seconds()
        self._times = times
        self._began = monotonic()

    def begin(self) -> None:
        self._began = monotonic()

    async def rest(self) -> None:
        """Wait in proportion to the time since `begin`, within reason, and no less than agreed."""
        worked = min(monotonic() - self._began, REST_SECONDS_MAX)
        await asyncio.sleep(max(self._times * worked, self._at_least))
