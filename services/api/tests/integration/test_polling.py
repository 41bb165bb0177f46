"""Five hundred polling clients, each on a separate connection, over a real port.

Answers, lookups and round trips are counted here; `make bench-api` measures their time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from api_factories import a_message, a_swap, an_input
from api_harness import App, Harness
from redis import Redis

from swap_contracts.swaps import SwapChanged
from swap_runtime.http.asgi import AsgiServer

pytestmark = pytest.mark.connected

CLIENTS = 500
ROUNDS = 4
# Much less than the usual 64 in a lookup, because requests may arrive one by one for a while.
SHARED_MIN = 20
# Of this whole process, including both ends of every connection.
GROWTH_MB_MAX = 16
MANY = {"reads": 1_000_000, "ceiling_factor": 100}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    tag: str
    body: bytes


class Poller:
    """One connection that polls one swap."""

    def __init__(self, streams: Any, app: App, swap_id: UUID) -> None:
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._reader, self._writer = streams
        self._head = f"GET /api/v2/swaps/{swap_id} HTTP/1.1\r\nhost: api\r\nx-svc-apikey: {app.key}"
        self.swap_id = str(swap_id)
        self.tag = ""
        self.answers: Counter[int] = Counter()

    async def ask(self) -> Answer:
        self.send(f"if-none-match: {self.tag}\r\n" if self.tag else "")
        answer = await self._answer()
        self.tag = answer.tag
        self.answers[answer.status] += 1
        return answer

    def send(self, headers: str = "") -> None:
        """Send a request without reading the answer."""
        self._writer.write(f"{self._head}\r\n{headers}\r\n".encode())

    def begin(self) -> None:
        """Send only the beginning of a request."""
        self._writer.write(self._head.encode())

    async def _answer(self) -> Answer:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(int(head[0].split()[1]), headers["etag"], body)

    async def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def polling(api: Harness, app: App, swaps: Sequence[SwapChanged]) -> AsyncIterator[Any]:
    """Open a connection for each of the swaps, and read the swap once."""
    async with AsyncExitStack() as open_ones:
        server = AsgiServer(api.parts.app, "127.0.0.1", 0)
        port = await server.start()
        open_ones.push_async_callback(server.stop)
        pollers = []
        for swap in swaps:
            streams = await asyncio.open_connection("127.0.0.1", port)
            pollers.append(Poller(streams, app, swap.swap_id))
            open_ones.push_async_callback(pollers[-1].close)
        await asyncio.gather(*(poller.ask() for poller in pollers))
        yield pollers


async def stored(api: Harness, app: App, number: int) -> list[SwapChanged]:
    swaps = [a_swap(app_id=app.id) for _ in range(number)]
    await api.parts.swaps.store_swaps([a_message(swap) for swap in swaps])
    return swaps


def round_trips(redis: Any) -> int:
    """Return the number of calls to the counters; 0 where Redis was too slow to be used."""
    statistics = redis.info("commandstats")
    return int(statistics.get("cmdstat_evalsha", {"calls": 0})["calls"])


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


async def test_each_gets_its_own_swap_and_many_share_a_lookup(api: Harness, valkey: Any) -> None:
    app = await api.an_app(is_lifted=False, **MANY)
    swaps = await stored(api, app, CLIENTS)
    async with polling(api, app, swaps) as pollers:
        with Redis(host="127.0.0.1", port=valkey.port) as redis, api.statements() as seen:
            before = round_trips(redis)
            same = [
                answer
                for _ in range(ROUNDS)
                for answer in await asyncio.gather(*(poller.ask() for poller in pollers))
            ]
            trips = round_trips(redis) - before
        changed = {str(swap.swap_id) for swap in swaps[::10]}
        await api.parts.swaps.store_swaps(
            [
                a_message(swap.model_copy(update={"sequence": 2, "transactions": (an_input(),)}))
                for swap in swaps[::10]
            ]
        )
        newer = await asyncio.gather(*(poller.ask() for poller in pollers))

    assert Counter((answer.status, answer.body) for answer in same) == {
        (304, b""): ROUNDS * CLIENTS
    }
    for poller, answer in zip(pollers, newer, strict=True):
        assert answer.status == (200 if poller.swap_id in changed else 304)
        assert answer.status == 304 or poller.swap_id.encode() in answer.body
    assert len({poller.tag for poller in pollers}) == CLIENTS
    assert trips <= ROUNDS * CLIENTS / SHARED_MIN
    # Only lookups of swaps, and sometimes the key and the progress of the chains.
    assert len(seen.texts) <= ROUNDS * CLIENTS / SHARED_MIN
    assert seen.commits == 0


async def test_no_client_is_lost_and_memory_is_bounded(api: Harness) -> None:
    app = await api.an_app(is_lifted=False, **MANY)
    async with polling(api, app, await stored(api, app, CLIENTS)) as pollers:
        before, is_first_done = resident_mb(), asyncio.Event()

        async def poll(poller: Poller) -> None:
            while not is_first_done.is_set():
                await poller.ask()
                if poller.answers[304] == 3 * ROUNDS:
                    is_first_done.set()

        await asyncio.gather(*(poll(poller) for poller in pollers))
        grown = resident_mb() - before

    # When the first client has all of its answers, the last one has at least half of them.
    assert min(poller.answers[304] for poller in pollers) >= 3 * ROUNDS / 2
    assert grown < GROWTH_MB_MAX


async def test_a_slow_client_does_not_block_others(api: Harness) -> None:
    app = await api.an_app(is_lifted=False, **MANY)
    async with polling(api, app, await stored(api, app, 60)) as pollers:
        slow, unread, others = pollers[:5], pollers[5:10], pollers[10:]
        for poller in slow:
            poller.begin()
        for poller in unread:  # much more than a socket buffer, and it is not read
            for _ in range(2000):
                poller.send()
        for _ in range(ROUNDS):
            await asyncio.gather(*(poller.ask() for poller in others))

    assert {tuple(poller.answers.items()) for poller in others} == {((200, 1), (304, ROUNDS))}
