"""The rows and pages that a statement reads when its tables have a long history.

PostgreSQL may keep the plan of a prepared statement that was made while a table was empty. It must
make a new plan after statistics show that the table has grown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple

import psycopg
import pytest
from psycopg.adapt import PyFormat, Transformer
from psycopg.sql import Literal
from pydantic import SecretStr

from swap_runtime.postgres.database import Connection, Engine, create_engine
from swap_runtime.postgres.sql import Statement, sql

# When a statement is executed often enough that PostgreSQL may keep one plan for all values.
PLANNED: Final = ("while_empty", "with_statistics")
OFTEN_ENOUGH: Final = 8  # PostgreSQL plans five for their values, and then compares
# A table with this few rows is read completely, regardless of its indexes.
SMALL_TABLE: Final = 10
IS_PREPARED: Final = sql("SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = :name)")
TYPE_OF: Final = sql("SELECT CAST(CAST(:oid AS oid) AS regtype)::text")
SCANNED: Final = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
# The pages of tables that are not PostgreSQL's, including those of triggers and deferred checks.
TOUCHED: Final = sql("""
SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(oid)), 0) FROM pg_class WHERE oid >= 16384
""")


class Question(NamedTuple):
    """A statement with values that select a few rows, and the limits of its reads."""

    statement: Statement
    values: Mapping[str, Any] = {}
    at_most: int = 80  # pages, and rows of each step
    rows_at_most: int | None = None  # the limit of rows, if it is higher than that of pages
    # A statement that must precede it in the same transaction, and is counted with it.
    after: Question | None = None


class History(NamedTuple):
    """The contents of a service's tables after a long time."""

    engine: Engine
    tables: str
    fill: Sequence[str]  # statements for empty tables

    async def run(self, *statements: str) -> None:
        async with self.engine.connect() as connection:
            for statement in statements:
                await connection.execute(statement)


class Readers:
    """Statements that read history, with plans of one time."""

    def __init__(self, planned: str) -> None:
        self.planned = planned

    async def among(
        self, questions: Mapping[str, Question], history: History, *seen: History
    ) -> Mapping[str, str]:
        """Return the statements that exceed their limits, with the excess. The tables are emptied.

        :param history: of the service that runs the statements.
        :param seen: of other services, which it can read in part.
        """
        async with history.engine.connect() as asking, _empty_tables(*seen, history):
            asking._connection.prepare_threshold = None  # a rollback clears all prepared statements
            await _prepare_all(asking, questions)
            if self.planned == "while_empty":
                await _execute_often(asking, questions)
            for each in (*seen, history):
                await each.run(*each.fill, "ANALYZE")
            if self.planned == "with_statistics":
                await _execute_often(asking, questions)
            return await _violations(asking, questions)


@pytest.fixture(params=PLANNED)
def readers(request: pytest.FixtureRequest) -> Readers:
    """The statements that read history, for each time of planning."""
    return Readers(request.param)


@pytest.fixture
async def engine_of(migrate_schema: Callable[[str], str]) -> AsyncIterator[Callable[[str], Engine]]:
    """Return a database engine with the role of a service."""
    async with AsyncExitStack() as stack:

        def connect(service: str) -> Engine:
            engine = create_engine(SecretStr(migrate_schema(service)), application_name="test")
            stack.push_async_callback(engine.dispose)
            return engine

        yield connect


def _all(questions: Mapping[str, Question]) -> Iterator[Question]:
    for question in questions.values():
        yield from _in_order(question)


async def _prepare_all(connection: Connection, questions: Mapping[str, Question]) -> None:
    for question in _all(questions):
        await _prepare(connection, question)


async def _execute_often(connection: Connection, questions: Mapping[str, Question]) -> None:
    for question in _all(questions):
        for _ in range(OFTEN_ENOUGH):
            async with _rolled_back(connection):
                with suppress(psycopg.Error):  # it is planned nevertheless
                    await connection.execute(_execution(question))


async def _prepare(connection: Connection, question: Question) -> None:
    """As psycopg does it, with the types that it finds for the values."""
    name = _name(question)
    if await connection.scalar(IS_PREPARED, {"name": name}):
        return
    converter, values = (
        Transformer(connection._connection),
        question.statement.order_values(question.values),
    )
    converter.dump_sequence(values, [PyFormat.AUTO] * len(values))
    types = [await connection.scalar(TYPE_OF, {"oid": oid}) for oid in converter.types or ()]
    declared = ", ".join("unknown" if name == "-" else name for name in types)
    await connection.execute(
        f"PREPARE {name}{f' ({declared})' if types else ''} AS {question.statement.text}"
    )


def _name(question: Question) -> str:
    return f"asked_{sha256(question.statement.text.encode()).hexdigest()[:16]}"


def _execution(question: Question) -> str:
    values = [
        Literal(value).as_string() for value in question.statement.order_values(question.values)
    ]
    return f"EXECUTE {_name(question)}" + (f" ({', '.join(values)})" if values else "")


@asynccontextmanager
async def _empty_tables(*histories: History) -> AsyncIterator[None]:
    for history in histories:
        await history.run(f"TRUNCATE {history.tables} CASCADE")
    try:
        yield
    finally:
        for history in histories:
            await history.run(f"TRUNCATE {history.tables} CASCADE")


@asynccontextmanager
async def _rolled_back(connection: Connection) -> AsyncIterator[None]:
    await connection.execute("BEGIN")
    try:
        yield
    finally:
        await connection.execute("ROLLBACK")


def _in_order(question: Question) -> Iterator[Question]:
    if question.after is not None:
        yield from _in_order(question.after)
    yield question


async def _violations(
    connection: Connection, questions: Mapping[str, Question]
) -> Mapping[str, str]:
    found = {}
    for name, question in questions.items():
        pages, scans = await _scanned_rows(connection, question)
        if pages > question.at_most or scans:
            found[name] = ", ".join([f"{pages} pages", *scans])
    return found


async def _scanned_rows(connection: Connection, question: Question) -> tuple[int, list[str]]:
    async with _rolled_back(connection):
        for each in _in_order(question):  # planning also reads pages, more of them the first time
            await connection.execute(f"EXPLAIN {_execution(each)}")
        before = await connection.scalar(TOUCHED)
        plans = [await _plan(connection, each) for each in _in_order(question)]
        await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        pages = await connection.scalar(TOUCHED) - before
    rows = question.at_most if question.rows_at_most is None else question.rows_at_most
    return int(pages), [scan for plan in plans for scan in _long_scans(plan, rows)]


async def _plan(connection: Connection, question: Question) -> Mapping[str, Any]:
    explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {_execution(question)}"
    plan: Mapping[str, Any] = (await connection.scalar(explained))[0]["Plan"]
    return plan


def _long_scans(plan: Mapping[str, Any], at_most: int) -> Iterator[str]:
    each_time = sum(plan.get(name, 0) for name in SCANNED)
    is_small = plan["Node Type"] == "Seq Scan" and each_time <= SMALL_TABLE
    rows = each_time * plan["Actual Loops"]
    if rows > at_most and not is_small:
        of = plan.get("Index Name") or plan.get("Relation Name") or plan.get("Alias", "")
        yield f"{plan['Node Type']} {of}: {rows:.0f} rows"
    for below in plan.get("Plans", ()):
        yield from _long_scans(below, at_most)
