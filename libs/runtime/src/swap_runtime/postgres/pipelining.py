"""Statements that share a round trip, by psycopg's pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from socket import IPPROTO_TCP, TCP_CORK, socket
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection, AsyncCursor
from psycopg.errors import Error, FeatureNotSupported, InvalidSqlStatementName, PipelineAborted
from psycopg.pq import TransactionStatus

from swap_runtime.postgres.sql import Rows

# In PostgreSQL's plancache.c: "cached plan must not change result type".
REPLANNING: Final = "RevalidateCachedQuery"
# More than a service has. Few statements have a text that is built for one execution.
CURSORS_MAX: Final = 500
# A cursor retains the rows of its last execution.
RETAINED_ROWS_MAX: Final = 100


class ConcurrentExchange(Exception):
    """Another task's exchange took the answer of a statement: a bug of the caller."""


class BoundStatement(NamedTuple):
    """A statement with its values, in the order of its parameters."""

    text: str
    values: Sequence[Any] = ()
    is_prepared: bool = True


class ReusedCursors(AsyncConnection[Any]):
    """A connection with one cursor for each statement.

    psycopg finds the converters of parameters and columns once for a cursor that executes the
    same statement again.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unused: dict[str, AsyncCursor[Any]] = {}

    def take_cursor(self, text: str) -> AsyncCursor[Any]:
        """Return a cursor that nothing else uses until it is put back."""
        return self._unused.pop(text, None) or self.cursor(binary=True)

    def put_cursor(self, text: str, cursor: AsyncCursor[Any]) -> None:
        """Take back a cursor after its rows were read."""
        if cursor.rowcount > RETAINED_ROWS_MAX:
            return
        if len(self._unused) >= CURSORS_MAX:
            self._unused.clear()
        self._unused[text] = cursor


async def exchange(
    connection: ReusedCursors, statements: Sequence[BoundStatement]
) -> Sequence[Rows]:
    """Run the statements in this order and return the rows of each, after one round trip.

    Outside of a transaction they are one together: all of them, or none.

    :raises psycopg.Error: the error of the first that fails; none after it is run.
    :raises ConcurrentExchange: when another task uses the connection.
    """
    try:
        if len(statements) == 1:
            cursors = [await _execute(connection, *statements)]
        else:
            async with connection.pipeline():
                with _one_packet(connection):
                    cursors = [await _execute(connection, each) for each in statements]
    except Error as error:
        cause = _cause(error)
        # psycopg would reuse outdated prepared statements; a new connection has none.
        if is_outdated(cause) or (len(statements) > 1 and _is_idle(connection)):
            await connection.close()
        raise cause from None
    answers = [await _rows(cursor) for cursor in cursors]
    for statement, cursor in zip(statements, cursors, strict=True):
        connection.put_cursor(statement.text, cursor)
    return answers


@contextmanager
def _one_packet(connection: ReusedCursors) -> Iterator[None]:
    """Let the kernel hold back what is written until the end.

    psycopg writes each statement of a pipeline by itself, and each would wake the server.
    """
    tcp = socket(fileno=connection.fileno())
    try:
        _cork(tcp, is_on=True)
        yield
    finally:
        _cork(tcp, is_on=False)
        tcp.detach()


def _cork(tcp: socket, *, is_on: bool) -> None:
    with suppress(OSError):  # not TCP, or the connection was lost
        tcp.setsockopt(IPPROTO_TCP, TCP_CORK, is_on)


async def _execute(connection: ReusedCursors, statement: BoundStatement) -> AsyncCursor[Any]:
    cursor = connection.take_cursor(statement.text)
    return await cursor.execute(
        statement.text, statement.values, prepare=None if statement.is_prepared else False
    )


async def _rows(cursor: AsyncCursor[Any]) -> Rows:
    if cursor.pgresult is None:
        raise ConcurrentExchange
    returns_rows = cursor.rownumber is not None
    return Rows(await cursor.fetchall() if returns_rows else [], cursor.rowcount)


def is_outdated(error: Error) -> bool:
    """Whether what was prepared is not what there is: a migration, or it was deallocated."""
    is_replanned = error.diag.source_function == REPLANNING
    return isinstance(error, InvalidSqlStatementName) or (
        isinstance(error, FeatureNotSupported) and is_replanned
    )


def _is_idle(connection: ReusedCursors) -> bool:
    """Whether no transaction is open, which would be rolled back and clear what was prepared."""
    return connection.info.transaction_status == TransactionStatus.IDLE


def _cause(error: Error) -> Error:
    """psycopg raises the last error of a pipeline; the first is the one in its context."""
    while isinstance(error, PipelineAborted) and isinstance(error.__context__, Error):
        error = error.__context__
    return error
