"""Sends a message again on an operator's word: the same id, the same bytes."""

from __future__ import annotations

from swap_notifier import observe
from swap_notifier.ports import Messages
from swap_runtime.clock import Clock


class ReplayMessages:
    def __init__(self, messages: Messages, *, clock: Clock) -> None:
        self._messages = messages
        self._clock = clock

    async def __call__(self, message_id: str) -> bool:
        """Make it due; False when it is unknown or its endpoint is disabled."""
        is_done = await self._messages.replay(message_id, at=self._clock())
        if is_done:
            observe.replayed(message_id)
        return is_done
