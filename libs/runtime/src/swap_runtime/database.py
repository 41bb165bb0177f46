"""The door to Postgres: one engine per process, one way to open a transaction.

Nothing may call out (RPC, HTTP, Kafka) while a transaction is open: it would hold locks for as
long as somebody else likes. Kafka and HTTP clients ask `forbid_open_transaction` first; the chains'
JSON-RPC, which does not know this package, is handed it as `before_call`.
"""

from __future__ import annotations

import select
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final

from psycopg.types.array import ListBinaryDumper
from pydantic import SecretStr
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from swap_runtime.errors import Unavailable

# Classes of SQLSTATE that are the server's state and not the statement's fault: connection,
# read-only after a failover, rollback, resources, wrong state, operator, system.
SERVER_STATES: Final = frozenset({"08", "25", "40", "53", "55", "57", "58"})


class TransactionOpen(Exception):
    """Somebody called out while this task had a transaction open: a bug, never a state."""


class _Open:
    """A flag that tasks started inside a transaction share with it, so that they see it end."""

    def __init__(self) -> None:
        self.is_open = True


_open: ContextVar[_Open | None] = ContextVar("open_transaction", default=None)


def create_engine(
    url: SecretStr,
    *,
    application_name: str,
    pool_size: int = 5,
    statement_timeout: timedelta = timedelta(seconds=15),
    lock_timeout: timedelta = timedelta(seconds=5),
    pool_timeout: timedelta = timedelta(seconds=5),
) -> AsyncEngine:
    """Return the process's engine. It connects when it is first used."""
    timeouts = {
        "statement_timeout": statement_timeout,
        "lock_timeout": lock_timeout,
        "idle_in_transaction_session_timeout": statement_timeout,
    }
    options = " ".join(f"-c {name}={_milliseconds(value)}" for name, value in timeouts.items())
    engine = create_async_engine(
        url.get_secret_value(),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_timeout.total_seconds(),
        pool_use_lifo=True,
        hide_parameters=True,  # errors are logged, and secrets are among parameters
        connect_args={
            "application_name": application_name,
            "options": f"{options} -c timezone=UTC",
            "connect_timeout": 5,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 20_000,
        },
    )
    event.listen(engine.sync_engine, "connect", _send_arrays_in_binary)
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    return engine


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Commit what is done inside, or nothing of it.

    :raises Unavailable: when Postgres is away or the transaction lost a race; the whole of it
        may be tried again. After a connection lost during COMMIT nobody knows whether it
        committed: what is tried again must find its own marks.
    """
    with _unavailable(), _marked_open():
        async with engine.begin() as connection:
            yield connection


@asynccontextmanager
async def reading(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Lend a connection for single statements that only read, without BEGIN and COMMIT.

    :raises Unavailable: when Postgres is away.
    """
    with _unavailable(), _marked_open():
        async with engine.connect() as connection:
            yield await connection.execution_options(isolation_level="AUTOCOMMIT")


def forbid_open_transaction(what: str) -> None:
    """Refuse to call out while this task has a transaction open.

    :raises TransactionOpen: always a bug of the caller.
    """
    state = _open.get()
    if state is not None and state.is_open:
        raise TransactionOpen(what)


async def ping(engine: AsyncEngine) -> None:
    """
    :raises Unavailable: when Postgres does not answer.
    """
    async with reading(engine) as connection:
        await connection.exec_driver_sql("SELECT 1")


def is_unavailable(error: DBAPIError) -> bool:
    """Tell a server that cannot now from a statement that never will."""
    state = getattr(error.orig, "sqlstate", None) or ""
    return (
        error.connection_invalidated
        or state[:2] in SERVER_STATES
        or (isinstance(error, OperationalError | InterfaceError))
    )


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except PoolTimeout as error:
        raise Unavailable("postgres: no free connection") from error
    except DBAPIError as error:
        if is_unavailable(error):
            raise Unavailable("postgres") from error
        raise


@contextmanager
def _marked_open() -> Iterator[None]:
    before, state = _open.get(), _Open()
    _open.set(state)
    try:
        yield
    finally:
        state.is_open = False
        _open.set(before)


def _send_arrays_in_binary(dbapi_connection: Any, record: object) -> None:
    """As text every byte of a document would be looked at twice, by us and by the server."""
    # Of two dumpers that would do, the one registered last is taken.
    dbapi_connection.driver_connection.adapters.register_dumper(list, ListBinaryDumper)


def _refuse_closed(dbapi_connection: Any, record: object, proxy: object) -> None:
    """Notice, without a round trip, that the server closed a connection while it was idle.

    Nothing is under way on an idle connection, so bytes to read mean its end.
    """
    poll = select.poll()
    poll.register(dbapi_connection.driver_connection.fileno(), select.POLLIN)
    if poll.poll(0):
        raise DisconnectionError("closed by the server")


def _milliseconds(value: timedelta) -> int:
    return int(value / timedelta(milliseconds=1))
