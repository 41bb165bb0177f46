"""Connections to Postgres that are lent, one borrower each.

Our own, because who waits for a connection may be cancelled, and a lease relies on that: the pool
that comes with psycopg waits with `asyncio.wait_for`, which on Python 3.11 forgets a cancellation
that comes together with the connection.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

Raw = psycopg.AsyncConnection[Any]


class PoolExhausted(Exception):
    """Every connection is lent, and none came back in time."""


class Pool:
    """The connection that came back last is lent first, so that few are kept busy."""

    def __init__(
        self, connect: Callable[[], Awaitable[Raw]], *, size: int, timeout: timedelta
    ) -> None:
        self._connect = connect
        self._timeout = timeout.total_seconds()
        self._places = asyncio.Semaphore(size)
        self._idle: list[Raw] = []

    async def take(self) -> Raw:
        """
        :raises PoolExhausted: when none is free for too long.
        :raises psycopg.OperationalError: when none can be made.
        """
        try:
            async with asyncio.timeout(self._timeout):
                await self._places.acquire()
        except TimeoutError as error:
            raise PoolExhausted from error
        try:
            return await self._usable() or await self._connect()
        except BaseException:
            self._places.release()
            raise

    async def give_back(self, raw: Raw) -> None:
        """Keep it for the next, unless it broke or something is still under way on it."""
        try:
            if raw.info.transaction_status == TransactionStatus.IDLE:
                self._idle.append(raw)
            else:
                await raw.close()
        finally:
            self._places.release()

    async def close(self) -> None:
        """Close those that nobody has."""
        while self._idle:
            await self._idle.pop().close()

    async def _usable(self) -> Raw | None:
        while self._idle:
            raw = self._idle.pop()
            if not _was_closed(raw):
                return raw
            await raw.close()
        return None


def _was_closed(raw: Raw) -> bool:
    """Notice, without a round trip, that the server closed a connection while it was idle.

    Nothing is under way on an idle connection, so bytes to read mean its end.
    """
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))
