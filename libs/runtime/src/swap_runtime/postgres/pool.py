"""Connections to Postgres that are lent, one borrower each.

Our own, because who waits for a connection may be cancelled, and a lease relies on that: the pool
that comes with psycopg waits with `asyncio.wait_for`, which on Python 3.11 forgets a cancellation
that comes together with the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from swap_runtime.postgres.pipelined_connection import PipelinedConnection


class PoolExhausted(Exception):
    """Every connection is lent, and none came back in time."""


class Pool:
    """The connection that came back last is lent first, so that few are kept busy."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[PipelinedConnection]],
        *,
        size: int,
        timeout: timedelta,
    ) -> None:
        self._connect = connect
        self._timeout = timeout.total_seconds()
        self._slots = asyncio.Semaphore(size)
        self._idle: list[PipelinedConnection] = []

    async def acquire(self) -> PipelinedConnection:
        """
        :raises PoolExhausted: when none is free for too long.
        :raises psycopg.OperationalError: when none can be made.
        """
        try:
            async with asyncio.timeout(self._timeout):
                await self._slots.acquire()
        except TimeoutError as error:
            raise PoolExhausted from error
        try:
            return await self._pop_open() or await self._connect()
        except BaseException:
            self._slots.release()
            raise

    async def release(self, connection: PipelinedConnection) -> None:
        """Keep it for the next, unless it broke or something is still under way on it."""
        try:
            if connection.is_idle:
                self._idle.append(connection)
            else:
                await connection.close()
        finally:
            self._slots.release()

    async def close(self) -> None:
        """Close those that nobody has."""
        while self._idle:
            await self._idle.pop().close()

    async def _pop_open(self) -> PipelinedConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed_by_server:
                return connection
            await connection.close()
        return None
