from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256
from typing import Final

import orjson

from swap_api.model.listing import SwapFilter
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_runtime.errors import Unavailable

LOOKS: Final = 25  # at most, then the client connects again
LOOK_INTERVAL: Final = timedelta(seconds=1)
PAUSE_FACTOR: Final = 10  # a filter that reads many rows is looked up less often
ALIVE_EVERY: Final = 5  # lookups without a change until a keep-alive line
ALIVE: Final = b": alive\n\n"
COME_AGAIN: Final = b"retry: 1000\n\n"


class ReadSwapStates:
    """Read the ids and statuses of a page of an app's swaps, once or whenever they change."""

    def __init__(self, swaps: PostgresSwaps) -> None:
        self._swaps = swaps

    async def __call__(self, wanted: SwapFilter) -> bytes:
        states = await self._swaps.list_states(wanted)
        return orjson.dumps([{"id": str(one.id), "status": one.status} for one in states])

    async def follow(self, wanted: SwapFilter, *, after: str) -> AsyncIterator[bytes]:
        """Yield the states as server-sent events, for a while: first as they are, then each change.

        :param after: the id of an event; the states that it had are not sent again.
        """
        last, loop = after, asyncio.get_running_loop()
        yield COME_AGAIN
        for look in range(1, LOOKS + 1):
            started_at = loop.time()
            try:
                states = await self(wanted)
            except Unavailable:
                return  # the client connects again with the last event's id
            name = sha256(states).hexdigest()
            if name != last:
                yield b"id: %b\ndata: %b\n\n" % (name.encode(), states)
                last = name
            elif look % ALIVE_EVERY == 0:
                yield ALIVE
            duration = loop.time() - started_at
            await asyncio.sleep(max(LOOK_INTERVAL.total_seconds(), duration * PAUSE_FACTOR))
