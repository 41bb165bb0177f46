from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from time import monotonic
from typing import Final
from uuid import UUID

from swap_api.model.keys import Caller
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.usecases.find_own_swap import find_own_swap
from swap_api.swaps.adapters.history_rendering import render_event, render_ledger, render_quotes
from swap_api.swaps.store.history import PostgresHistory
from swap_api.swaps.usecases.stream_time import Seconds, StreamTime
from swap_contracts.public.catalogue import PublicCatalogue
from swap_runtime.errors import Unavailable

LOOK_INTERVAL: Final = timedelta(milliseconds=250)
KEEP_ALIVE: Final = b": alive\n\n"
COME_AGAIN: Final = b"retry: 1000\n\n"


class ReadHistory:
    """Read what happened to a swap of the caller's, and what was booked for it."""

    def __init__(
        self,
        swaps: PostgresSwaps,
        history: PostgresHistory,
        public: PublicCatalogue,
        *,
        seconds: Seconds = monotonic,
    ) -> None:
        self._seconds = seconds
        self._swaps = swaps
        self._history = history
        self._public = public

    async def events(self, caller: Caller, swap_id: UUID) -> bytes:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        """
        await find_own_swap(self._swaps, caller, swap_id)
        return b"[%b]" % b",".join(map(render_event, await self._history.events(swap_id)))

    async def follow(self, caller: Caller, swap_id: UUID, *, after: int) -> AsyncIterator[bytes]:
        """Return the events after a sequence number, as server-sent events, for a while.

        :raises NotFound: for an unknown id and for one of another tenant alike.
        """
        await find_own_swap(self._swaps, caller, swap_id)
        return self._follow(swap_id, after)

    async def ledger(self, caller: Caller, swap_id: UUID) -> bytes:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        """
        await find_own_swap(self._swaps, caller, swap_id)
        return render_ledger(await self._history.postings(swap_id), self._public)

    async def quotes(self, caller: Caller, swap_id: UUID) -> bytes:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        """
        await find_own_swap(self._swaps, caller, swap_id)
        return render_quotes(await self._history.quotes(swap_id))

    async def _follow(self, swap_id: UUID, last: int) -> AsyncIterator[bytes]:
        yield COME_AGAIN
        time = StreamTime(self._seconds)
        while not time.is_over():
            try:
                events = await self._history.events(swap_id)
            except Unavailable:
                return  # the client connects again with the last event's id
            fresh = [event for event in events if event.sequence > last]
            for event in fresh:
                yield b"id: %d\ndata: %b\n\n" % (event.sequence, render_event(event))
                last = event.sequence
            if fresh:
                time.note_write()
            elif time.needs_keep_alive():
                yield KEEP_ALIVE
                time.note_write()
            await asyncio.sleep(LOOK_INTERVAL.total_seconds())
