from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from swap_runtime.postgres.connection_pool import ConnectionPool

pytestmark = pytest.mark.connected
TIMES = 30
Connection = psycopg.AsyncConnection[Any]
MakePool = Callable[..., ConnectionPool]


@pytest.fixture
def plain_url(url: str) -> str:
    return url.replace("+psycopg", "")


@pytest.fixture
async def a_pool(plain_url: str) -> AsyncIterator[MakePool]:
    pools: list[ConnectionPool] = []

    def make(*, size: int = 1, timeout: timedelta = timedelta(seconds=5)) -> ConnectionPool:
        pool = ConnectionPool(
            plain_url, size=size, timeout=timeout, application_name="test", options=""
        )
        pools.append(pool)
        return pool

    yield make
    for pool in pools:
        await pool.close()


async def end(url: str, *connections: Connection) -> None:
    """Close connections on the server's side."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
        for connection in connections:
            pid = connection.info.backend_pid
            await other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


async def turns(count: int) -> None:
    """Let other tasks run for some turns of the event loop."""
    for _ in range(count):
        await asyncio.sleep(0)


async def loses_a_cancellation(
    acquire: Callable[[], Awaitable[Connection]],
    release: Callable[[Connection], Awaitable[None]],
    *,
    after: int,
) -> bool:
    """Cancel a task that waits, some turns after the connection was returned for it.

    In any case the connection can be acquired again.
    """
    pool_connection = await acquire()
    was_acquired = False

    async def work() -> None:
        nonlocal was_acquired
        connection = await acquire()
        try:
            was_acquired = True
            await asyncio.sleep(0.02)
        finally:
            await release(connection)

    working = asyncio.create_task(work())
    await turns(10)
    giving_back = asyncio.create_task(release(pool_connection))
    await turns(after)
    working.cancel()
    await asyncio.wait([working, giving_back])
    again = await acquire()
    await release(again)
    assert again is pool_connection
    return was_acquired and not working.cancelled()


class TestCancellation:
    async def test_is_not_lost_at_any_moment_of_a_handover(self, a_pool: MakePool) -> None:
        pool = a_pool()

        lost = [
            after
            for after in range(TIMES)
            if await loses_a_cancellation(pool.acquire, pool.release, after=after)
        ]

        assert lost == []

    async def test_is_lost_by_the_pool_of_psycopg(self, plain_url: str) -> None:
        """When psycopg fixes it, `acquire` need not compare the count of cancellations."""
        async with AsyncConnectionPool(
            plain_url, min_size=0, max_size=1, open=False, kwargs={"autocommit": True}
        ) as pool:
            lost = [
                await loses_a_cancellation(pool.getconn, pool.putconn, after=after)
                for after in range(TIMES)
            ]

        assert any(lost)

    async def test_while_it_is_given_back_loses_no_connection(self, a_pool: MakePool) -> None:
        pool = a_pool()
        pool_connection = await pool.acquire()

        for after in range(1, 5):
            giving_back = asyncio.create_task(pool.release(pool_connection))
            await turns(after)
            giving_back.cancel()
            await asyncio.wait([giving_back])
            assert await pool.acquire() is pool_connection

    async def test_of_many_that_wait_leaves_all_connections(self, a_pool: MakePool) -> None:
        pool = a_pool(size=2)
        one, two = await pool.acquire(), await pool.acquire()
        waiting = [asyncio.create_task(pool.acquire()) for _ in range(20)]
        await turns(10)

        for task in waiting[::2]:
            task.cancel()
        await asyncio.gather(pool.release(one), pool.release(two))
        for task in waiting[1::2]:
            await pool.release(await task)

        assert {await pool.acquire(), await pool.acquire()} == {one, two}


async def acquired(pool: ConnectionPool) -> Connection:
    """Acquire as a caller that retries after a refusal does."""
    while True:
        try:
            return await pool.acquire()
        except PoolTimeout:
            await asyncio.sleep(0.05)


class TestConnectionPool:
    async def test_refuses_when_no_connection_is_released_in_time(self, a_pool: MakePool) -> None:
        pool = a_pool(timeout=timedelta(seconds=1))
        pool_connection = await asyncio.wait_for(pool.acquire(), 5)

        with pytest.raises(PoolTimeout):
            await pool.acquire()

        await pool.release(pool_connection)

    async def test_closes_a_released_connection_in_pipeline_mode(self, a_pool: MakePool) -> None:
        pool = a_pool()
        busy = await pool.acquire()
        busy.pgconn.enter_pipeline_mode()

        await pool.release(busy)

        assert busy.closed
        assert await pool.acquire() is not busy

    async def test_ends_a_transaction_that_was_left_open(self, a_pool: MakePool) -> None:
        pool = a_pool()
        pool_connection = await pool.acquire()
        await pool_connection.execute("BEGIN")

        await pool.release(pool_connection)

        again = await pool.acquire()
        assert again.info.transaction_status == psycopg.pq.TransactionStatus.IDLE

    async def test_replaces_all_that_the_server_closed_meanwhile(
        self, a_pool: MakePool, plain_url: str
    ) -> None:
        pool = a_pool(size=3)
        pool_connections = [await pool.acquire() for _ in range(3)]
        for connection in pool_connections:
            await pool.release(connection)
        await end(plain_url, *pool_connections)
        await asyncio.sleep(0.1)  # until the sockets are closed

        async with asyncio.timeout(2):
            fresh = await pool.acquire()
            await fresh.execute("SELECT 1")

        assert fresh not in pool_connections

    async def test_connects_again_soon_after_the_server_came_back(
        self, a_pool: MakePool, plain_url: str
    ) -> None:
        pool = ConnectionPool(
            "host=127.0.0.1 port=1",
            size=1,
            timeout=timedelta(milliseconds=50),
            application_name="test",
            options="",
        )
        try:
            for _ in range(2):
                with pytest.raises(psycopg.OperationalError):
                    await pool.acquire()
            pool._pool.conninfo = plain_url  # the server is up again
            async with asyncio.timeout(3):
                await pool.release(await acquired(pool))
        finally:
            await pool.close()

    async def test_refuses_soon_in_an_outage_and_serves_many_at_once_after_it(
        self, plain_url: str
    ) -> None:
        pool = ConnectionPool(
            "host=127.0.0.1 port=1",
            size=4,
            timeout=timedelta(seconds=30),
            application_name="test",
            options="",
        )
        loop = asyncio.get_running_loop()
        try:
            for seconds in (15, 5):  # the first ones detect it
                began = loop.time()
                requests = [pool.acquire() for _ in range(50)]
                results = await asyncio.gather(*requests, return_exceptions=True)
                assert {type(result) for result in results} == {PoolTimeout}
                assert loop.time() - began < seconds
            pool._pool.conninfo = plain_url  # the server is up again
            async with asyncio.timeout(5):
                pool_connections = await asyncio.gather(*(acquired(pool) for _ in range(4)))
            for connection in pool_connections:
                await pool.release(connection)
        finally:
            await pool.close()
