"""How long a sign-in is refused after failures from one address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

FREE: Final = 5  # failures without a pause
PAUSE_MAX: Final = timedelta(minutes=15)
FORGOTTEN_AFTER: Final = timedelta(hours=24)


@dataclass(slots=True)
class Failures:
    number: int
    last_at: datetime
    blocked_until: datetime

    def add(self, at: datetime) -> None:
        """Count one more; each beyond the free ones doubles the pause."""
        self.number += 1
        self.last_at = at
        beyond = min(self.number - FREE, 10)
        pause = min(timedelta(seconds=2**beyond), PAUSE_MAX) if beyond > 0 else timedelta(0)
        self.blocked_until = at + pause

    def take_back(self) -> None:
        """Uncount the last one, and end its pause."""
        self.number = max(self.number - 1, 0)
        self.blocked_until = self.last_at
