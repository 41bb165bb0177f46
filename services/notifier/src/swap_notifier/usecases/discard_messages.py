"""Ends messages that will not be sent: their endpoint was disabled while they were claimed.

The process that had claimed one may have died, or one was added or written down at the same moment.
"""

from __future__ import annotations

from swap_notifier import observe
from swap_notifier.adapters.messages import PostgresMessages
from swap_runtime.clock import Clock


class DiscardMessages:
    def __init__(self, messages: PostgresMessages, *, clock: Clock) -> None:
        self._messages = messages
        self._clock = clock

    async def __call__(self) -> bool:
        """Discard them all; there is never more to do at once."""
        number = await self._messages.discard(at=self._clock())
        if number:
            observe.messages_discarded(number)
        return False
