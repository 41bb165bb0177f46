"""Statements that share a round trip, by psycopg's pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection, AsyncCursor
from psycopg.errors import Error, FeatureNotSupported, InvalidSqlStatementName, PipelineAborted
from psycopg.pq import TransactionStatus

from swap_runtime.postgres.sql import Rows

# In PostgreSQL's plancache.c: "cached plan must not change result type".
REPLANNING: Final = "RevalidateCachedQuery"


class ConcurrentExchange(Exception):
    """Another task's exchange took the answer of a statement: a bug of the caller."""


class BoundStatement(NamedTuple):
    """A statement with its values, in the order of its parameters."""

    text: str
    values: Sequence[Any] = ()
    prepare: bool | None = None  # None: once it was executed often enough


async def exchange(
    connection: AsyncConnection[Any], statements: Sequence[BoundStatement]
) -> Sequence[Rows]:
    """Run the statements in this order and return the rows of each, after one round trip.

    Outside of a transaction they are one together: all of them, or none.

    :raises psycopg.Error: what Postgres says of the first that fails; none after it is run.
    :raises ConcurrentExchange: when another task uses the connection.
    """
    try:
        if len(statements) == 1:
            cursors = [await _execute(connection, *statements)]
        else:
            async with connection.pipeline():
                cursors = [await _execute(connection, each) for each in statements]
    except Error as error:
        cause = _cause(error)
        # psycopg would use again what it believes to be prepared; a new connection has nothing.
        if is_outdated(cause) or (len(statements) > 1 and _is_idle(connection)):
            await connection.close()
        raise cause from None
    return [await _rows(cursor) for cursor in cursors]


async def _execute(connection: AsyncConnection[Any], statement: BoundStatement) -> AsyncCursor[Any]:
    cursor = connection.cursor(binary=True)
    return await cursor.execute(statement.text, statement.values, prepare=statement.prepare)


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


def _is_idle(connection: AsyncConnection[Any]) -> bool:
    """Whether no transaction is open, which would be rolled back and clear what was prepared."""
    return connection.info.transaction_status == TransactionStatus.IDLE


def _cause(error: Error) -> Error:
    """psycopg raises the last error of a pipeline; the first is the one in its context."""
    while isinstance(error, PipelineAborted) and isinstance(error.__context__, Error):
        error = error.__context__
    return error
