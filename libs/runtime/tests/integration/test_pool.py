from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import psycopg
import pytest

from swap_runtime.postgres.pipelined_connection import PipelinedConnection
from swap_runtime.postgres.pool import Pool, PoolExhausted

pytestmark = pytest.mark.connected


class Server:
    """Postgres, and the connections that were made to it."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("+psycopg", "")
        self.made: list[psycopg.AsyncConnection] = []

    async def connect(self) -> PipelinedConnection:
        self.made.append(await psycopg.AsyncConnection.connect(self._url, autocommit=True))
        return PipelinedConnection(self.made[-1])

    async def end(self, connection: psycopg.AsyncConnection) -> None:
        """Close a connection at the server's side."""
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as other:
            ended = "SELECT pg_terminate_backend(%s, 5000)"
            await other.execute(ended, [connection.info.backend_pid])

    async def close(self) -> None:
        for connection in self.made:
            await connection.close()


@pytest.fixture
async def server(url: str) -> AsyncIterator[Server]:
    server = Server(url)
    yield server
    await server.close()


def a_pool(server: Server, *, size: int = 2) -> Pool:
    return Pool(server.connect, size=size, timeout=timedelta(milliseconds=20))


class TestPool:
    async def test_lends_first_what_came_back_last(self, server: Server) -> None:
        pool = a_pool(server)
        one, two = await pool.acquire(), await pool.acquire()
        await pool.release(one)
        await pool.release(two)

        assert await pool.acquire() is two
        assert len(server.made) == 2

    async def test_refuses_when_none_comes_back_in_time(self, server: Server) -> None:
        pool = a_pool(server, size=1)
        await pool.acquire()

        with pytest.raises(PoolExhausted):
            await pool.acquire()

    async def test_keeps_nothing_that_is_still_under_way(self, server: Server) -> None:
        pool = a_pool(server)
        broken = await pool.acquire()
        await server.made[0].execute("BEGIN")

        await pool.release(broken)

        assert server.made[0].closed
        assert await pool.acquire() is not broken

    async def test_replaces_what_the_server_closed_meanwhile(self, server: Server) -> None:
        pool = a_pool(server)
        wire = await pool.acquire()
        await pool.release(wire)
        await server.end(server.made[0])
        async with asyncio.timeout(5):
            while not wire.is_closed_by_server:  # noqa: ASYNC110  only the socket shows it
                await asyncio.sleep(0.01)

        assert await pool.acquire() is not wire

        assert server.made[0].closed
        assert len(server.made) == 2

    async def test_who_is_cancelled_while_waiting_takes_nothing(self, server: Server) -> None:
        pool = Pool(server.connect, size=1, timeout=timedelta(seconds=5))
        lent = await pool.acquire()
        waiting = asyncio.create_task(pool.acquire())
        await asyncio.sleep(0)

        # The connection and the cancellation come in the same turn of the event loop.
        await pool.release(lent)
        waiting.cancel()

        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await pool.acquire() is lent

    async def test_a_failed_connection_leaves_its_place_free(self) -> None:
        async def refuse() -> PipelinedConnection:
            raise ConnectionRefusedError

        pool = Pool(refuse, size=1, timeout=timedelta(seconds=5))

        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                await pool.acquire()
