"""How long a sign-in is refused after failures from one address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

FREE_FAILURES: Final = 5  # failures without a pause
PAUSE_MAX: Final = timedelta(minutes=15)
FORGOTTEN_AFTER: Final = timedelta(hours=24)


@dataclass(slots=True)
class Failures:
    number: int
    last_at: datetime
    blocked_until: datetime

    def add(self, at: datetime) -> None:
        """Count one more; each beyond the free ones doubles the pause."""
        self.last_at = at
        self._set_number(self.number + 1)

    def take_back(self) -> None:
        """Uncount one. The pause is that of the others, which may have failed since."""
        self._set_number(max(self.number - 1, 0))

    def _set_number(self, number: int) -> None:
        self.number = number
        beyond = min(number - FREE_FAILURES, 10)
        pause = min(timedelta(seconds=2**beyond), PAUSE_MAX) if beyond > 0 else timedelta(0)
        self.blocked_until = self.last_at + pause
