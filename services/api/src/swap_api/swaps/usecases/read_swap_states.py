from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256
from time import monotonic
from typing import Final

import orjson

from swap_api.model.listing import SwapFilter
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.swaps.usecases.stream_time import OPEN_FOR, Seconds, StreamTime
from swap_runtime.errors import Unavailable

LOOK_INTERVAL: Final = timedelta(seconds=1)
# Of one stream: what a request for one counts in the rate limit.
LOOKS_MAX: Final = OPEN_FOR // LOOK_INTERVAL
PAUSE_FACTOR: Final = 10  # a filter that reads many rows is looked up less often
KEEP_ALIVE: Final = b": alive\n\n"
COME_AGAIN: Final = b"retry: 1000\n\n"


class ReadSwapStates:
    """Read the ids and statuses of a page of an app's swaps, once or whenever they change."""

    def __init__(self, swaps: PostgresSwaps, *, seconds: Seconds = monotonic) -> None:
        self._swaps = swaps
        self._seconds = seconds

    async def __call__(self, wanted: SwapFilter) -> bytes:
        states = await self._swaps.list_states(wanted)
        return orjson.dumps([{"id": str(one.id), "status": one.status} for one in states])

    async def follow(self, wanted: SwapFilter, *, after: str) -> AsyncIterator[bytes]:
        """Yield the states as server-sent events, for a while: first as they are, then each change.

        :param after: the id of an event; the states that it had are not sent again.
        """
        last, time = after, StreamTime(self._seconds)
        yield COME_AGAIN
        while not time.is_over():
            started_at = self._seconds()
            try:
                states = await self(wanted)
            except Unavailable:
                return  # the client connects again with the last event's id
            name = sha256(states).hexdigest()
            if name != last:
                yield b"id: %b\ndata: %b\n\n" % (name.encode(), states)
                last = name
                time.note_write()
            elif time.needs_keep_alive():
                yield KEEP_ALIVE
                time.note_write()
            duration = self._seconds() - started_at
            await asyncio.sleep(max(LOOK_INTERVAL.total_seconds(), duration * PAUSE_FACTOR))
