"""A connection to Postgres on which all statements of one round trip leave together.

psycopg's own pipeline sends them one by one, and makes a cursor for each, with converters that it
has to look up anew: for ten statements three times the processor time of this, and a third more in
the server, which is woken for each of them. libpq writes what is together as soon as it has 8 KiB.
"""

from __future__ import annotations

import re
import select
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.abc import PQGen
from psycopg.abc import Transformer as TransformerOfOne
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import (
    ConnStatus,
    DiagnosticField,
    ExecStatus,
    Format,
    PipelineStatus,
    TransactionStatus,
)
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

from swap_runtime.postgres.arrays import Array
from swap_runtime.postgres.sql import Row, Rows

# What was prepared is not what there is: a migration changed a column, or somebody else forgot it.
OUTDATED_STATES: Final = frozenset({b"0A000", b"26000"})
FAILED_STATUSES: Final = frozenset({ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED})
# More than a service has, times the types that parameters of one come with.
PREPARED_MAX: Final = 1000
NON_IDENTIFIER: Final = re.compile(r"\W")
_Key = tuple[str, tuple[int, ...]]  # a statement, and the types of its values


class BoundStatement(NamedTuple):
    """A statement with its values, in the order of its parameters."""

    text: str
    values: Sequence[Any] = ()
    is_prepared: bool = False
    is_binary: bool = False  # how its rows come
    arrays: Sequence[Array | None] = ()  # what each value is cast to, where that is known


DEALLOCATE_ALL: Final = BoundStatement("DEALLOCATE ALL")


class ConcurrentExchange(Exception):
    """Not all answers to another exchange were taken: a bug, never a state.

    Two tasks use one connection, or one goes on with it after an exchange that broke off. Each
    would take the other's answers.
    """


class EncodedStatement(NamedTuple):
    """A statement in the bytes that leave."""

    statement: BoundStatement
    types: tuple[int, ...] = ()
    values: Sequence[Any] = ()
    formats: Sequence[Format] = ()


class _Expected(NamedTuple):
    """Whose an answer is."""

    key: _Key
    is_preparation: bool


class PipelinedConnection:
    """One connection, with what is prepared on it. One task at a time."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._converter: TransformerOfOne = Transformer(connection)
        self._prepared: dict[_Key, bytes] = {}
        self._names = count()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way: no statement, and no transaction."""
        is_idle = self._pgconn.transaction_status == TransactionStatus.IDLE
        return is_idle and not self._has_exchange

    @property
    def is_aborted(self) -> bool:
        """Whether a statement of the transaction failed: it can only be rolled back."""
        return self._pgconn.transaction_status == TransactionStatus.INERROR

    @property
    def _has_exchange(self) -> bool:
        return self._pgconn.pipeline_status != PipelineStatus.OFF

    @property
    def is_closed_by_server(self) -> bool:
        """Whether the server closed it while it was at rest, noticed without a round trip.

        Nothing is under way then, so bytes to read mean its end.
        """
        poll = select.poll()
        poll.register(self._pgconn.socket, select.POLLIN)
        return bool(poll.poll(0))

    async def close(self) -> None:
        """Close it, whatever is under way."""
        await self._connection.close()

    async def roll_back(self) -> None:
        """End the transaction, if there is one; a connection that is lost has nothing to undo."""
        with suppress(psycopg.Error):  # the pool keeps none that is not at rest
            await self._connection.rollback()

    def dump(self, statement: BoundStatement) -> EncodedStatement:
        """Convert a statement's values.

        :raises psycopg.Error: when one of them has no form in Postgres.
        """
        if not statement.arrays:
            return EncodedStatement(statement, *self._convert(statement.values))
        values = [
            array and array.dump(value)
            for array, value in zip(statement.arrays, statement.values, strict=True)
        ]
        types = [array.oid if array else 0 for array in statement.arrays]
        formats = [Format.BINARY] * len(values)
        if None in values:
            others = [place for place, data in enumerate(values) if data is None]
            converted = self._convert([statement.values[place] for place in others])
            for place, *each in zip(others, *converted, strict=True):
                types[place], values[place], formats[place] = each
        return EncodedStatement(statement, tuple(types), values, formats)

    def _convert(
        self, values: Sequence[Any]
    ) -> tuple[tuple[int, ...], Sequence[Any], Sequence[Format]]:
        """Return the types, the bytes and their formats as psycopg finds them."""
        if not values:
            return (), (), ()
        converter = self._converter
        dumped = converter.dump_sequence(values, [PyFormat.AUTO] * len(values))
        return converter.types or (), dumped, converter.formats or ()

    async def exchange(self, dumped: Sequence[EncodedStatement]) -> Sequence[Rows]:
        """Run the statements in this order and return the rows of each, after one round trip.

        Outside of a transaction they are one together: all of them, or none.

        :raises psycopg.Error: what Postgres says of the first that fails; none after it is run.
        :raises ConcurrentExchange: while another task waits for its answers.
        """
        if len(self._prepared) >= PREPARED_MAX:
            self._prepared.clear()
            await self._run_exchange([EncodedStatement(DEALLOCATE_ALL)])
        return await self._run_exchange(dumped)

    async def _run_exchange(self, dumped: Sequence[EncodedStatement]) -> Sequence[Rows]:
        # Cancelled, it cancels what runs in the server, and takes the answers all the same.
        return await self._connection.wait(self._exchange_steps(dumped))

    def _exchange_steps(self, dumped: Sequence[EncodedStatement]) -> PQGen[Sequence[Rows]]:
        if self._pgconn.status == ConnStatus.OK and self._has_exchange:
            raise ConcurrentExchange
        # Whatever is raised between entering and leaving leaves the connection as one that the
        # pool does not keep.
        self._pgconn.enter_pipeline_mode()
        expected = [answer for each in dumped for answer in self._queue(each)]
        self._pgconn.pipeline_sync()
        yield from _flush(self._pgconn)
        rows, failed = yield from self._read_results(expected)
        self._pgconn.exit_pipeline_mode()
        if failed is not None:
            raise error_from_result(failed)
        return rows

    def _queue(self, dumped: EncodedStatement) -> Iterator[_Expected]:
        """Queue a statement, and say for each answer that it brings what it is about."""
        (text, _, is_prepared, is_binary, _), types, values, formats = dumped
        key = (text, types)
        rows_format = Format.BINARY if is_binary else Format.TEXT
        if is_prepared:
            name = self._prepared.get(key)
            if name is None:
                name = self._prepared[key] = b"s%d" % next(self._names)
                self._pgconn.send_prepare(name, text.encode(), types)
                yield _Expected(key, is_preparation=True)
            self._pgconn.send_query_prepared(name, values, formats, rows_format)
        else:
            self._pgconn.send_query_params(text.encode(), values, types, formats, rows_format)
        yield _Expected(key, is_preparation=False)

    def _read_results(
        self, expected: Sequence[_Expected]
    ) -> PQGen[tuple[Sequence[Rows], PGresult | None]]:
        """Take all of them, for the connection is used again; with the first that is an error."""
        rows: list[Rows] = []
        failed: PGresult | None = None
        for key, is_preparation in expected:
            result = yield from _next_result(self._pgconn)
            if result.status in FAILED_STATUSES:
                failed = failed or result
                if (
                    is_preparation
                    or result.error_field(DiagnosticField.SQLSTATE) in OUTDATED_STATES
                ):
                    self._prepared.pop(key, None)
            elif not is_preparation:
                rows.append(self._to_rows(result))
        # What is deferred fails here, where there is no transaction that ends with COMMIT.
        while (end := (yield from _next_result(self._pgconn))).status != ExecStatus.PIPELINE_SYNC:
            failed = failed or end
        return rows, failed

    def _to_rows(self, result: PGresult) -> Rows:
        if result.status != ExecStatus.TUPLES_OK:
            changed = result.command_tuples
            return Rows([], -1 if changed is None else changed)
        self._converter.set_pgresult(result)
        columns = tuple([result.fname(column) or b"" for column in range(result.nfields)])
        found = self._converter.load_rows(0, result.ntuples, _row_with(columns))
        self._converter.set_pgresult(None)  # a large one is not kept
        return Rows(found, result.ntuples)


def _flush(pgconn: PGconn) -> PQGen[None]:
    while pgconn.flush():
        if (yield Wait.RW) & Ready.R:
            # The server may have to say something before it reads on.
            pgconn.consume_input()


def _next_result(pgconn: PGconn) -> PQGen[PGresult]:
    """
    :raises psycopg.OperationalError: when the connection is lost.
    """
    while True:
        while pgconn.is_busy():
            while not (yield Wait.R):
                pass
            pgconn.consume_input()
        result = pgconn.get_result()
        if pgconn.status != ConnStatus.OK:
            raise psycopg.OperationalError("connection lost")
        if result is not None:
            return result


@lru_cache(maxsize=PREPARED_MAX)
def _row_with(columns: tuple[bytes, ...]) -> Callable[[Sequence[Any]], Row]:
    """
    :raises ValueError: when two columns have the same name.
    """
    row: Any = namedtuple("Row", map(_attribute, columns))  # type: ignore[misc]  # known only now
    make: Callable[[Sequence[Any]], Row] = row._make
    return make


def _attribute(column: bytes) -> str:
    """Return the name that Python has for a column; `?column?` is one without a name."""
    name = NON_IDENTIFIER.sub("_", column.decode())
    return name if name[:1].isalpha() else f"f{name}"
