"""Streaming a swap's events: each once, in order, from the client's last position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from itertools import count
from typing import Any, cast
from uuid import UUID, uuid4

import orjson
import pytest
from api_factories import AT, a_caller, a_catalogue

from swap_api.model.refusals import NotFound
from swap_api.read_model.swaps import RenderedSwap, StoredSwap
from swap_api.swaps.decide.history import SwapEvent
from swap_api.swaps.usecases import read_history
from swap_api.swaps.usecases.read_history import COME_AGAIN, KEEP_ALIVE, ReadHistory
from swap_api.swaps.usecases.stream_time import KEEP_ALIVE_AFTER, OPEN_FOR
from swap_runtime.errors import Unavailable
from swap_runtime.public_catalogue import public_catalogue

CALLER = a_caller()
CREATED = SwapEvent(1, None, "user_transfer_pending", AT, "swap_requested")
SEEN = SwapEvent(2, "user_transfer_pending", "user_transfer_pending", AT, "deposit_seen")
PAID = SwapEvent(3, "user_transfer_pending", "ls_transfer_pending", AT, None)


class OneSwap:
    async def find(self, swap_id: UUID) -> StoredSwap:
        return StoredSwap(CALLER.app_id, AT, RenderedSwap(b"{}", (), None, "completed"))


class HistoryReads:
    """The answer at each lookup; the last one is repeated."""

    def __init__(self, *lookups: Sequence[SwapEvent] | Exception) -> None:
        self._lookups = list(lookups)

    async def events(self, swap_id: UUID) -> Sequence[SwapEvent]:
        look = self._lookups.pop(0) if len(self._lookups) > 1 else self._lookups[0]
        if isinstance(look, Exception):
            raise look
        return look

    async def postings(self, swap_id: UUID) -> Sequence[Any]:
        return ()


@pytest.fixture(autouse=True)
def _patched_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_history, "LOOK_INTERVAL", timedelta(0))


def a_clock(step: float = 0.05) -> Callable[[], float]:
    """Return a clock that goes on by a step whenever it is read."""
    ticks = count()
    return lambda: next(ticks) * step


async def followed(
    history_reads: HistoryReads, *, after: int = 0, seconds: Callable[[], float] | None = None
) -> list[bytes]:
    public = public_catalogue(a_catalogue())
    read = ReadHistory(cast(Any, OneSwap()), history_reads, public, seconds=seconds or a_clock())
    stream: AsyncIterator[bytes] = await read.follow(CALLER, uuid4(), after=after)
    async with asyncio.timeout(10):
        return [piece async for piece in stream]


def ids(pieces: Sequence[bytes]) -> list[bytes]:
    return [piece.split(b"\n")[0] for piece in pieces if piece.startswith(b"id:")]


class TestFollow:
    async def test_publishes_every_event_once_and_in_order(self) -> None:
        pieces = await followed(HistoryReads([], [CREATED], [CREATED, SEEN], [CREATED, SEEN, PAID]))

        assert pieces[0] == COME_AGAIN
        assert ids(pieces) == [b"id: 1", b"id: 2", b"id: 3"]
        events = [orjson.loads(p.split(b"data: ")[1]) for p in pieces if b"data: " in p]
        assert [(event["type"], event["cause"]) for event in events] == [
            ("swap.user_transfer_pending", "swap_requested"),
            ("swap.updated", "deposit_seen"),
            ("swap.ls_transfer_pending", None),
        ]

    async def test_continues_where_the_client_stopped(self) -> None:
        assert ids(await followed(HistoryReads([CREATED, SEEN, PAID]), after=2)) == [b"id: 3"]

    async def test_sends_keepalives_without_events(self) -> None:
        pieces = await followed(HistoryReads([CREATED]), after=1)

        alive = [piece for piece in pieces if piece.startswith(b":")]
        assert alive == [KEEP_ALIVE] * (OPEN_FOR // KEEP_ALIVE_AFTER - 1)

    async def test_ends_by_elapsed_time_however_slow_a_look_is(self) -> None:
        history_reads = HistoryReads(*([CREATED], [CREATED, SEEN]) * 3)

        pieces = await followed(history_reads, seconds=a_clock(OPEN_FOR.total_seconds() / 2))

        assert ids(pieces) == [b"id: 1"]

    async def test_ends_when_the_past_cannot_be_read(self) -> None:
        assert ids(await followed(HistoryReads([CREATED], Unavailable("postgres")))) == [b"id: 1"]

    async def test_of_another_owner_is_not_found(self) -> None:
        public = public_catalogue(a_catalogue())
        read = ReadHistory(cast(Any, OneSwap()), HistoryReads([CREATED]), public)

        with pytest.raises(NotFound):
            await read.follow(a_caller(), uuid4(), after=0)
