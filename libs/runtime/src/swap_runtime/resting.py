"""A loop rests as long as it worked, longer where nobody waits for it; a hurried one does not.

What a batch costs is mostly its own: statements, commits, turns of the event loop. A loop that
begins again at once takes the two messages that have come meanwhile and pays all of it for them.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from time import monotonic
from typing import Final

REST_SECONDS_MAX: Final = 0.1


class Resting:
    """One loop's work and rest."""

    def __init__(self, at_least: timedelta | None = None) -> None:
        """
        :param at_least: zero for a loop that somebody waits for: it does not rest at all.
        """
        self._at_least = 0.0 if at_least is None else at_least.total_seconds()
        self._is_hurried = at_least == timedelta(0)
        self._began = monotonic()

    def begin(self) -> None:
        self._began = monotonic()

    async def rest(self) -> None:
        """Wait as long as it is since `begin`, within reason, and no less than agreed."""
        if self._is_hurried:
            return
        worked = min(monotonic() - self._began, REST_SECONDS_MAX)
        await asyncio.sleep(max(worked, self._at_least))
