"""The door to Postgres: one pool per process, one way to open a transaction.

No external call (RPC, HTTP, Kafka) is allowed while a transaction is open: it would hold locks for
an unknown time. Kafka and HTTP clients call `forbid_open_transaction` first. The chains' JSON-RPC
does not import this package and gets it as `before_call`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final

import psycopg
from pydantic import SecretStr

from swap_runtime.errors import Unavailable
from swap_runtime.handling import forbid_in_handler
from swap_runtime.postgres.connection_pool import ConnectionPool
from swap_runtime.postgres.pipelining import BoundStatement, ReusedCursors, exchange, is_outdated
from swap_runtime.postgres.sql import Rows, Statement

# Classes of SQLSTATE that are the server's state and not the statement's fault: connection,
# read-only after a failover, rollback, resources, wrong state, operator, system.
SERVER_STATES: Final = frozenset({"08", "25", "40", "53", "55", "57", "58"})
# PostgreSQL's default of 4 is for rotating disks. With it, a lookup of five rows by key scans a
# whole table of some thousand rows.
RANDOM_PAGES: Final = "random_page_cost=1.1"


class TransactionOpen(Exception):
    """An external call was made while this task had a transaction open: always a bug."""


class TransactionAborted(Exception):
    """A statement failed, and the code continued after catching it: COMMIT would store nothing. A
    bug.
    """


class _Open:
    """A flag that tasks started inside a transaction share with it, so that they see it end."""

    def __init__(self) -> None:
        self.is_open = True


_open: ContextVar[_Open | None] = ContextVar("open_transaction", default=None)
StatementListener = Callable[[str], None]
WakeListener = Callable[[Collection[str]], None]


_BEGIN: Final = BoundStatement("BEGIN")
_COMMIT: Final = BoundStatement("COMMIT")
Question = tuple[Statement, Mapping[str, Any]]


class PostedStatement:
    """What became of a statement that was posted, known once it has left."""

    def __init__(self) -> None:
        self._rows: Rows | None = None

    @property
    def changed(self) -> int:
        """How many rows it wrote."""
        assert self._rows is not None, "it has not left yet"
        return self._rows.changed

    def resolve(self, rows: Rows) -> None:
        self._rows = rows


class Connection:
    """One connection for as long as it is lent."""

    def __init__(
        self,
        connection: ReusedCursors,
        statement_listener: StatementListener | None,
    ) -> None:
        self._connection = connection
        self._statement_listener = statement_listener
        self._waiting: list[BoundStatement] = []
        self._posted: list[PostedStatement] = []  # the last of what waits, in the same order

    async def execute(
        self, statement: Statement | str, values: Mapping[str, Any] | None = None
    ) -> Rows:
        """Run one statement and return all of its rows.

        :raises psycopg.Error: Postgres' error, of this statement or of a posted one.
        """
        (rows,) = await self._exchange([self._bind(statement, values)])
        return rows

    async def ask(self, *questions: Question) -> Sequence[Rows]:
        """Run several statements in one round trip and return the rows of each.

        :raises psycopg.Error: the error of the first that fails; none after it is run.
        """
        return await self._exchange([self._bind(*question) for question in questions])

    def _bind(
        self, statement: Statement | str, values: Mapping[str, Any] | None = None
    ) -> BoundStatement:
        text = statement.text if isinstance(statement, Statement) else statement
        if self._statement_listener is not None:
            self._statement_listener(text)
        if isinstance(statement, Statement):
            return BoundStatement(text, statement.order_values(values or {}))
        return BoundStatement(text, is_prepared=False)

    async def _exchange(self, statements: Sequence[BoundStatement]) -> Sequence[Rows]:
        """Send all posted statements and the queries, and return the rows of the queries."""
        leaving, posted = [*self._waiting, *statements], self._posted
        self._waiting, self._posted = [], []
        answers = await exchange(self._connection, leaving)
        first_requested = len(leaving) - len(statements)
        for one, rows in zip(
            posted, answers[first_requested - len(posted) : first_requested], strict=True
        ):
            one.resolve(rows)
        return answers[first_requested:]

    async def scalars(
        self, statement: Statement | str, values: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return the first column."""
        return [row[0] for row in await self.execute(statement, values)]

    async def scalar(
        self, statement: Statement | str, values: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the first column of the first row, None where there is no row."""
        rows = await self.execute(statement, values)
        return rows[0][0] if rows else None


class Transaction(Connection):
    """One connection while it has a transaction, which begins with the first statement."""

    def __init__(
        self,
        connection: ReusedCursors,
        statement_listener: StatementListener | None,
    ) -> None:
        super().__init__(connection, statement_listener)
        self._waiting = [_BEGIN]
        self._has_failed = False
        self.wakes: set[str] = set()

    def post(
        self, statement: Statement, values: Mapping[str, Any] | None = None
    ) -> PostedStatement:
        """Send a statement with the next query, or with COMMIT.

        In the order of all others; what it did wrong is raised there.
        """
        self._waiting.append(self._bind(statement, values))
        self._posted.append(PostedStatement())
        return self._posted[-1]

    def wake(self, channel: str) -> None:
        """Wake the tasks that wait for this, in this process or another, after the commit."""
        self.wakes.add(channel)

    async def commit(self) -> None:
        """Commit, with the posted statements; nothing without any statement.

        :raises TransactionAborted: when a statement of the transaction failed.
        """
        if self._has_failed:
            raise TransactionAborted
        if self._waiting != [_BEGIN]:
            await self._exchange([_COMMIT])
            if self._statement_listener is not None:
                self._statement_listener("COMMIT")

    async def roll_back(self) -> None:
        """Undo everything; a connection that is lost has nothing to undo."""
        self._waiting, self._posted = [], []
        with suppress(psycopg.Error):  # the pool closes what is not at rest
            await self._connection.rollback()

    async def _exchange(self, statements: Sequence[BoundStatement]) -> Sequence[Rows]:
        if self._has_failed:
            raise TransactionAborted
        try:
            return await super()._exchange(statements)
        except BaseException:
            self._has_failed = True  # it is unknown how much of it was sent
            raise


class Engine:
    """A process's connections to Postgres."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self.statement_listener: StatementListener | None = (
            None  # called with every statement, and each end of a transaction
        )
        self.wake_listener: WakeListener = lambda _: None  # called with what a commit wakes

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """Lend a connection; each statement is a separate transaction."""
        pool_connection = await self._pool.acquire()
        try:
            yield Connection(pool_connection, self.statement_listener)
        finally:
            await self._pool.release(pool_connection)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """Lend a connection for one transaction: committed at the end, or rolled back.

        BEGIN leaves with the first statement.
        """
        pool_connection = await self._pool.acquire()
        connection = Transaction(pool_connection, self.statement_listener)
        try:
            try:
                yield connection
                await connection.commit()
            except BaseException:
                await connection.roll_back()
                raise
            self.wake_listener(connection.wakes)
        finally:
            await self._pool.release(pool_connection)

    async def dispose(self) -> None:
        """Close every connection."""
        await self._pool.close()


def create_engine(
    url: SecretStr,
    *,
    application_name: str,
    pool_size: int = 5,
    statement_timeout: timedelta = timedelta(seconds=15),
    lock_timeout: timedelta = timedelta(seconds=5),
    pool_timeout: timedelta = timedelta(seconds=5),
) -> Engine:
    """Return the process's connections. The first is made when it is first used."""
    timeouts = {
        "statement_timeout": statement_timeout,
        "lock_timeout": lock_timeout,
        "idle_in_transaction_session_timeout": statement_timeout,
    }
    options = [f"-c {name}={_milliseconds(value)}" for name, value in timeouts.items()]
    options += [f"-c {RANDOM_PAGES}", "-c timezone=UTC"]

    pool = ConnectionPool(
        url.get_secret_value().replace("+psycopg", "", 1),
        size=pool_size,
        timeout=pool_timeout,
        application_name=application_name,
        options=" ".join(options),
    )
    return Engine(pool)


@asynccontextmanager
async def transaction(engine: Engine) -> AsyncIterator[Transaction]:
    """Commit what is done inside, or nothing of it.

    :raises Unavailable: when Postgres is away or the transaction lost a race; the whole of it may
        be tried again. After a connection lost during COMMIT it is unknown whether it committed: a
        retry must find its own marks.
    """
    with _unavailable(), _marked_open():
        async with engine.begin() as connection:
            yield connection


@asynccontextmanager
async def reading(engine: Engine) -> AsyncIterator[Connection]:
    """Lend a connection for single statements that only read, without BEGIN and COMMIT.

    :raises Unavailable: when Postgres is away.
    """
    with _unavailable(), _marked_open():
        async with engine.connect() as connection:
            yield connection


async def read_alone(
    engine: Engine, statement: Statement, values: Mapping[str, Any] | None = None
) -> Rows:
    """Run one statement that only reads, as `reading` does, and return all of its rows.

    :raises Unavailable: when Postgres is away.
    """
    async with reading(engine) as connection:
        return await connection.execute(statement, values)


async def execute_alone(
    engine: Engine,
    statement: Statement,
    values: Mapping[str, Any] | None = None,
    *,
    wakes: Collection[str] = (),
) -> Rows:
    """Run one statement that is a transaction by itself: one round trip instead of three.

    :param wakes: what it wakes, once it is committed.
    :raises Unavailable: as `transaction` does, and as little is known after a lost connection.
    """
    with _unavailable(), _marked_open():
        async with engine.connect() as connection:
            rows = await connection.execute(statement, values)
        if engine.statement_listener is not None:
            engine.statement_listener("COMMIT")
        engine.wake_listener(wakes)
        return rows


def forbid_open_transaction(what: str) -> None:
    """Refuse to call out while this task has a transaction open, or handles a batch.

    :raises TransactionOpen: always a bug of the caller.
    :raises RequestInHandler: likewise.
    """
    forbid_in_handler(what)
    state = _open.get()
    if state is not None and state.is_open:
        raise TransactionOpen(what)


async def ping(engine: Engine) -> None:
    """
    :raises Unavailable: when Postgres does not answer.
    """
    async with reading(engine) as connection:
        await connection.execute("SELECT 1")


def is_unavailable(error: psycopg.Error) -> bool:
    """Distinguish a server that cannot run it now from a statement that always fails."""
    is_of_server = (error.sqlstate or "")[:2] in SERVER_STATES or isinstance(
        error, psycopg.OperationalError | psycopg.InterfaceError
    )
    return is_of_server or is_outdated(error)


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
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


def _milliseconds(value: timedelta) -> int:
    return int(value / timedelta(milliseconds=1))
