"""psycopg's pool, mended where a cancelled task would lose its cancellation or the connection.

An expired lease cancels its work, also while that waits for a connection. The pool waits with
`asyncio.wait_for`: on Python 3.11 that drops a cancellation which arrives together with the result.
The task still counts it, so `acquire` looks at that count.
"""

from __future__ import annotations

import asyncio
import select
from datetime import timedelta
from typing import Final

from psycopg import AsyncRawCursor
from psycopg.pq import PipelineStatus
from psycopg.rows import namedtuple_row
from psycopg.types.array import ListBinaryDumper
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from swap_runtime.postgres.pipelining import ReusedCursors

# More than a service has, times the types that the parameters of one come with.
PREPARED_MAX: Final = 1000
# The next request for a connection tries again; a longer backoff would outlast the outage.
RECONNECT_SECONDS: Final = 1
# After it, a request for a connection is refused in an outage, and otherwise waits again behind the
# others. Longer than RECONNECT_SECONDS, so that the first requests of an outage end here.
OUTAGE_CHECK_SECONDS: Final = 1.5
# How long a request waits while the server refuses connections.
OUTAGE_WAIT_SECONDS: Final = 0.25


class ConnectionPool:
    """The connections of one process. The first is made when it is first needed."""

    def __init__(
        self, url: str, *, size: int, timeout: timedelta, application_name: str, options: str
    ) -> None:
        """
        :param url: for libpq.
        :param timeout: how long `acquire` waits, while the server accepts connections.
        :param options: settings of the server, as libpq passes them.
        """
        self._pool: AsyncConnectionPool[ReusedCursors] = AsyncConnectionPool(
            url,
            connection_class=ReusedCursors,
            min_size=0,
            max_size=size,
            timeout=timeout.total_seconds(),
            reconnect_timeout=RECONNECT_SECONDS,
            reconnect_failed=self._note_outage,
            open=False,
            configure=_configure,
            kwargs={
                "autocommit": True,  # BEGIN leaves with the first statement, COMMIT with the last
                "cursor_factory": AsyncRawCursor,
                "row_factory": namedtuple_row,
                "application_name": application_name,
                "client_encoding": "utf8",
                "options": options,
                "connect_timeout": 5,
                "keepalives_idle": 10,
                "keepalives_interval": 5,
                "keepalives_count": 3,
                "tcp_user_timeout": 20_000,
            },
        )
        self._is_opened = False
        self._timeout = timeout.total_seconds()
        # From a failed attempt to connect, with no connection left, to the next connection.
        self._is_outage = False

    async def acquire(self) -> ReusedCursors:
        """Return a connection that the server had not closed; `release` must follow.

        :raises psycopg.OperationalError: when none is free or can be made in time. In an outage
            that is soon: callers that queue up would each wait, and be late for their own callers.
        """
        if not self._is_opened:
            await self._pool.open()
            self._is_opened = True
        while True:
            connection = await self._get()
            if not _is_closed_by_server(connection):
                return connection
            await connection.close()
            await self.release(connection)

    async def release(self, connection: ReusedCursors) -> None:
        """Give it back; the pool replaces one that is closed or still works on something."""
        # A cancelled task must not take the connection with it.
        await asyncio.shield(self._put(connection))

    async def close(self) -> None:
        """Close all connections, those in use when they are released."""
        await self._pool.close()

    async def _get(self) -> ReusedCursors:
        task = asyncio.current_task()
        assert task is not None
        requests_before = task.cancelling()
        connection = await self._wait()
        self._is_outage = False
        if task.cancelling() > requests_before:
            await self.release(connection)
            raise asyncio.CancelledError
        return connection

    async def _wait(self) -> ReusedCursors:
        """
        :raises PoolTimeout: when none came in time.
        """
        remaining = self._timeout
        while True:
            longest = OUTAGE_WAIT_SECONDS if self._is_outage else OUTAGE_CHECK_SECONDS
            wait = min(longest, remaining)
            try:
                return await self._pool.getconn(wait)
            except PoolTimeout:
                remaining -= wait
                if self._is_outage or remaining <= 0:
                    raise

    def _note_outage(self, pool: AsyncConnectionPool[ReusedCursors]) -> None:
        # With others in use it may be the server's limit of connections: those come back.
        if pool.get_stats()["pool_size"] == 0:
            self._is_outage = True

    async def _put(self, connection: ReusedCursors) -> None:
        if connection.pgconn.pipeline_status != PipelineStatus.OFF:
            await connection.close()  # unread answers are left
        await self._pool.putconn(connection)


async def _configure(connection: ReusedCursors) -> None:
    connection.prepared_max = PREPARED_MAX
    # As text, each byte of a document would be escaped. psycopg takes the dumper registered last.
    connection.adapters.register_dumper(list, ListBinaryDumper)


def _is_closed_by_server(connection: ReusedCursors) -> bool:
    """Without a round trip: nothing is under way, so bytes to read mean its end."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
