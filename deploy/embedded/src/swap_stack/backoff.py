"""How long to wait before a service that keeps dying is started again."""

from __future__ import annotations

# The first two deaths may have a cause outside; from the third on it is most likely the service's.
PAUSES_SECONDS = (0.0, 0.0, 0.5, 1.0, 2.0, 5.0)
# A process that ran this long has recovered.
SETTLED_SECONDS = 10.0


class Backoff:
    """One service's recent deaths."""

    def __init__(self) -> None:
        self._recent_exits = 0
        self._started_at = 0.0
        self._not_before = 0.0

    def record_start(self, now: float) -> None:
        self._started_at = now

    def record_exit(self, now: float) -> float:
        """Count a death and return the pause that follows it."""
        if now - self._started_at >= SETTLED_SECONDS:
            self._recent_exits = 0
        pause = PAUSES_SECONDS[min(self._recent_exits, len(PAUSES_SECONDS) - 1)]
        self._recent_exits += 1
        self._not_before = now + pause
        return pause

    def is_waiting(self, now: float) -> bool:
        return now < self._not_before
