from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest
from psycopg.pq import TransactionStatus

from swap_runtime import pool as module
from swap_runtime.pool import Pool, PoolExhausted, Raw


class FakeRaw:
    """A connection without a server."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.transaction_status = TransactionStatus.IDLE
        self.is_closed = False
        self.was_closed_by_the_server = False

    @property
    def info(self) -> FakeRaw:
        return self

    async def close(self) -> None:
        self.is_closed = True


class Server:
    def __init__(self) -> None:
        self.made: list[FakeRaw] = []

    async def connect(self) -> Raw:
        self.made.append(FakeRaw(len(self.made)))
        return cast(Raw, self.made[-1])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    def was_closed(raw: Any) -> bool:
        return bool(raw.was_closed_by_the_server)

    monkeypatch.setattr(module, "_was_closed", was_closed)
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
        server.made[0].transaction_status = TransactionStatus.INERROR

        await pool.give_back(broken)

        assert server.made[0].is_closed
        assert await pool.take() is not broken

    async def test_replaces_what_the_server_closed_meanwhile(self, server: Server) -> None:
        pool = a_pool(server)
        await pool.give_back(await pool.take())
        server.made[0].was_closed_by_the_server = True

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
        async def refuse() -> Raw:
            raise ConnectionRefusedError

        pool = Pool(refuse, size=1, timeout=timedelta(seconds=5))

        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                await pool.take()
