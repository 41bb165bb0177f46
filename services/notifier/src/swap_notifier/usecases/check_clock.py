"""Compares this machine's clock with the database's: receivers refuse what seems old or too new."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from swap_notifier import observe
from swap_notifier.adapters.database_clock import DatabaseClock
from swap_runtime.clock import Clock

# Receivers allow five minutes; an alert at a tenth of them is early enough.
SKEW_MAX: Final = timedelta(seconds=30)


class CheckClock:
    def __init__(self, other: DatabaseClock, *, clock: Clock) -> None:
        self._other = other
        self._clock = clock

    async def __call__(self) -> bool:
        """Say how far the two are apart; there is never more to do at once."""
        theirs = await self._other.now()
        skew = self._clock() - theirs
        observe.clock_compared(skew, is_too_much=abs(skew) > SKEW_MAX)
        return False
