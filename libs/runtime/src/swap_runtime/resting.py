"""A loop rests as long as it worked, so that under load more waits for it and is done at once.

What a batch costs is mostly its own: statements, commits, turns of the event loop. A loop that
begins again at once takes the two messages that have come meanwhile and pays all of it for them.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

REST_SECONDS_MAX: Final = 0.1


class Resting:
    """Measures one loop's work."""

    def __init__(self) -> None:
        self._began = monotonic()

    def begin(self) -> None:
        self._began = monotonic()

    async def rest(self) -> None:
        """Wait as long as it is since `begin`, within reason."""
        await asyncio.sleep(min(monotonic() - self._began, REST_SECONDS_MAX))
