"""Measures how late deliveries are, and since when receivers fail."""

from __future__ import annotations

from swap_notifier import observe
from swap_notifier.adapters.messages import PostgresMessages
from swap_runtime.clock import Clock


class MeasureQueue:
    def __init__(self, messages: PostgresMessages, *, clock: Clock) -> None:
        self._messages = messages
        self._clock = clock

    async def __call__(self) -> bool:
        """Measure once; there is never more to do at once."""
        observe.queue_measured(await self._messages.queue_state(at=self._clock()))
        return False
