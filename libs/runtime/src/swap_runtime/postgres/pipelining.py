"""Statements that share a round trip, by psycopg's pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection, AsyncCursor
from psycopg.errors import Error, FeatureNotSupported, InvalidSqlStatementName, PipelineAborted

from swap_runtime.postgres.sql import Rows

# What was prepared is not what there is: a migration changed a column, or it was deallocated.
OUTDATED: Final = (FeatureNotSupported, InvalidSqlStatementName)


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
    """
    try:
        if len(statements) == 1:
            cursors = [await _execute(connection, *statements)]
        else:
            async with connection.pipeline():
                cursors = [await _execute(connection, each) for each in statements]
    except PipelineAborted as error:
        raise _cause(error) from None
    except OUTDATED:
        # psycopg would use it again; a new connection has nothing prepared.
        await connection.close()
        raise
    return [await _rows(cursor) for cursor in cursors]


async def _execute(connection: AsyncConnection[Any], statement: BoundStatement) -> AsyncCursor[Any]:
    cursor = connection.cursor(binary=True)
    return await cursor.execute(statement.text, statement.values, prepare=statement.prepare)


async def _rows(cursor: AsyncCursor[Any]) -> Rows:
    returns_rows = cursor.rownumber is not None
    return Rows(await cursor.fetchall() if returns_rows else [], cursor.rowcount)


def _cause(error: BaseException) -> BaseException:
    """psycopg raises the last error of a pipeline; the first is the one in its context."""
    while isinstance(error, PipelineAborted) and isinstance(error.__context__, Error):
        error = error.__context__
    return error
