"""How long swaps really take: from the first sight of the deposit to the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from swap_quoter.domain.market import RouteKey


@dataclass(frozen=True, slots=True)
class Completion:
    """One completed swap, as the statistics keep it."""

    swap_id: UUID
    route: RouteKey
    milliseconds: int
    closed_at: datetime


def duration_milliseconds(*, seen_at: datetime, closed_at: datetime) -> int:
    """Return the time between the two; a block's clock may be ahead of this one."""
    return max((closed_at - seen_at) // timedelta(milliseconds=1), 0)
