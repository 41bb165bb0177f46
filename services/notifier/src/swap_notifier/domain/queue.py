"""How late deliveries are, as the metrics show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class QueueState:
    overdue: timedelta  # of the first delivery that is due and not begun
    failing_endpoints: int  # enabled ones
    failing_for: timedelta  # of the first of them
