"""Sends messages again on an operator's word: the same ids, the same bytes."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from swap_notifier import observe
from swap_notifier.adapters.messages import PostgresMessages
from swap_runtime.clock import Clock

AT_ONCE_MAX: Final = 1000


class ReplayMessages:
    def __init__(self, messages: PostgresMessages, *, clock: Clock) -> None:
        self._messages = messages
        self._clock = clock

    async def one(self, message_id: str) -> bool:
        """Make it due; False when it is unknown or its endpoint is disabled."""
        is_done = await self._messages.replay(message_id, at=self._clock())
        if is_done:
            observe.message_replayed(message_id)
        return is_done

    async def since(
        self, endpoint_id: UUID, since: datetime, *, undelivered_only: bool
    ) -> int | None:
        """Make due everything that an endpoint was, or was not, sent since then.

        Return how many; None when the endpoint is unknown, disabled or a listener.
        """
        began, total = self._clock(), 0
        while True:
            number = await self._messages.replay_since(
                endpoint_id,
                since=since,
                undelivered_only=undelivered_only,
                at=began,
                limit=AT_ONCE_MAX,
            )
            if number is None:
                return None
            total += number
            if number < AT_ONCE_MAX:
                observe.replayed_since(endpoint_id, total)
                return total
