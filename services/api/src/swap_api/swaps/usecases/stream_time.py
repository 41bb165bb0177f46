"""How long an event stream is open: by elapsed time, however long a look takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

# Rights are checked when a stream is opened: it ends, and the client connects again.
OPEN_FOR: Final = timedelta(seconds=25)
KEEP_ALIVE_AFTER: Final = timedelta(seconds=5)  # without news, until a keep-alive line
Seconds = Callable[[], float]


class StreamTime:
    """The time of one open stream."""

    def __init__(self, seconds: Seconds) -> None:
        self._seconds = seconds
        self._opened_at = self._wrote_at = seconds()

    def is_over(self) -> bool:
        return self._seconds() - self._opened_at >= OPEN_FOR.total_seconds()

    def needs_keep_alive(self) -> bool:
        """Whether nothing was written for so long that a proxy could close the connection."""
        return self._seconds() - self._wrote_at >= KEEP_ALIVE_AFTER.total_seconds()

    def note_write(self) -> None:
        self._wrote_at = self._seconds()
