"""Deletes messages that ended long ago."""

from __future__ import annotations

from datetime import timedelta

from swap_notifier import observe
from swap_notifier.adapters.messages import PostgresMessages
from swap_runtime.clock import Clock

AT_ONCE_MAX = 1000


class ForgetMessages:
    def __init__(self, messages: PostgresMessages, *, keep: timedelta, clock: Clock) -> None:
        self._messages = messages
        self._keep = keep
        self._clock = clock

    async def __call__(self) -> bool:
        """Delete some, and say whether there may be more."""
        before = self._clock() - self._keep
        number = await self._messages.forget(before=before, limit=AT_ONCE_MAX)
        if number:
            observe.messages_deleted(number)
        return number == AT_ONCE_MAX
