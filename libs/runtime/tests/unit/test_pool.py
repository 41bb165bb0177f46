from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import cast

import pytest

from swap_runtime.pool import Pool, PoolExhausted
from swap_runtime.wire import Wire


class FakeWire:
    """A connection without a server."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_at_rest = True
        self.is_closed = False
        self.was_closed = False

    async def close(self) -> None:
        self.is_closed = True


class Server:
    def __init__(self) -> None:
        self.made: list[FakeWire] = []

    async def connect(self) -> Wire:
        self.made.append(FakeWire(len(self.made)))
        return cast(Wire, self.made[-1])


@pytest.fixture
def server() -> Server:
    return Server()


def a_pool(server: Server, *, size: int = 2) -> Pool:
    return Pool(server.connect, size=size, timeout=timedelta(milliseconds=20))


class TestPool:
    async def test_lends_first_what_came_back_last(self, server: Server) -> None:
        pool = a_pool(server)
        one, two = await pool.take(), await pool.take()
        await pool.give_back(one)
        await pool.give_back(two)

        assert await pool.take() is two
        assert len(server.made) == 2

    async def test_refuses_when_none_comes_back_in_time(self, server: Server) -> None:
        pool = a_pool(server, size=1)
        await pool.take()

        with pytest.raises(PoolExhausted):
            await pool.take()

    async def test_keeps_nothing_that_is_still_under_way(self, server: Server) -> None:
        pool = a_pool(server)
        broken = await pool.take()
        server.made[0].is_at_rest = False

        await pool.give_back(broken)

        assert server.made[0].is_closed
        assert await pool.take() is not broken

    async def test_replaces_what_the_server_closed_meanwhile(self, server: Server) -> None:
        pool = a_pool(server)
        await pool.give_back(await pool.take())
        server.made[0].was_closed = True

        await pool.take()

        assert len(server.made) == 2

    async def test_who_is_cancelled_while_waiting_takes_nothing(self, server: Server) -> None:
        pool = Pool(server.connect, size=1, timeout=timedelta(seconds=5))
        lent = await pool.take()
        waiting = asyncio.create_task(pool.take())
        await asyncio.sleep(0)

        # The connection and the cancellation come in the same turn of the event loop.
        await pool.give_back(lent)
        waiting.cancel()

        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await pool.take() is lent

    async def test_a_failed_connection_leaves_its_place_free(self, server: Server) -> None:
        async def refuse() -> Wire:
            raise ConnectionRefusedError

        pool = Pool(refuse, size=1, timeout=timedelta(seconds=5))

        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                await pool.take()
