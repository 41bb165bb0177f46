"""What a statement looks at when there is a history behind what is asked.

A service's prepared statements are planned once for each connection, perhaps while their tables
are empty. Such a plan must still ask for rows by what they are asked for by when there are many.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.sql import Literal

from swap_runtime.database import STABLE_PLANS, Connection, Engine
from swap_runtime.sql import Statement, sql

# When the plan was made. On a new connection there may be rows and no statistics yet.
PLANNED: Final = ("while_empty", "without_statistics", "with_statistics")
# Which kinds are looked at: generic plans are kept, others are made anew for each values, and soon
# with statistics.
GENERIC: Final = "force_generic_plan"
KINDS: Final = {
    "without_statistics": (GENERIC,),
    "with_statistics": (GENERIC, "force_custom_plan"),
}
OF_A_TEXT: Final = sql("SELECT name FROM pg_prepared_statements WHERE statement = :text LIMIT 1")
SCANNED: Final = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")


class Question(NamedTuple):
    """A statement with values that ask for a few rows, and what it may look at for them."""

    statement: Statement
    values: Mapping[str, Any] = {}
    at_most: int = 60  # pages, and rows
    # Where there are rows, one that is planned for its LIMIT is cheaper than a generic plan.
    is_page: bool = False


async def reading_history(
    engine: Engine,
    questions: Mapping[str, Question],
    *,
    fill: Sequence[str],
    tables: str,
    planned: str,
) -> str:
    """Return which look at more than they may, and at what. The tables are emptied.

    :param fill: statements that make a history, into tables that are empty.
    """
    async with engine.connect() as asking, engine.connect() as another, _emptied(another, tables):
        for option in STABLE_PLANS:
            assert await asking.scalar(f"SHOW {option}") == "off"
        await asking.execute(f"SET plan_cache_mode = {GENERIC}")
        for question in questions.values():
            async with _undone(asking):
                with suppress(psycopg.Error):  # planned all the same
                    await asking.execute(question.statement, question.values)
        for statement in fill:
            await another.execute(statement)
        if planned == "while_empty":
            return await _offenders(asking, questions)
        if planned == "with_statistics":
            await another.execute(f"ANALYZE {tables}")
        found = ""
        for kind in KINDS[planned]:
            await asking.execute("DISCARD PLANS")
            await asking.execute(f"SET plan_cache_mode = {kind}")
            ours = {
                name: question
                for name, question in questions.items()
                if not (question.is_page and kind == GENERIC)
            }
            found += await _offenders(asking, ours)
        return found


@asynccontextmanager
async def _emptied(connection: Connection, tables: str) -> AsyncIterator[None]:
    await connection.execute(f"TRUNCATE {tables} CASCADE")
    try:
        yield
    finally:
        await connection.execute(f"TRUNCATE {tables} CASCADE")


@asynccontextmanager
async def _undone(connection: Connection) -> AsyncIterator[None]:
    await connection.execute("BEGIN")
    try:
        yield
    finally:
        # Not through the driver: it forgets its prepared statements with every ROLLBACK.
        connection._raw.pgconn.exec_(b"ROLLBACK")


async def _offenders(connection: Connection, questions: Mapping[str, Question]) -> str:
    found = ""
    for name, question in questions.items():
        async with _undone(connection):
            plan = await _plan(connection, question)
        pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        scans = [f"{pages} pages", *_long_scans(plan, question.at_most)]
        if pages > question.at_most or len(scans) > 1:
            found += f"\n{name}: {', '.join(scans)}"
    return found


async def _plan(connection: Connection, question: Question) -> Mapping[str, Any]:
    prepared = await connection.scalar(OF_A_TEXT, {"text": question.statement.text})
    values = [Literal(value).as_string() for value in question.statement.ordered(question.values)]
    asked = f"EXECUTE {prepared}" + (f" ({', '.join(values)})" if values else "")
    explained = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {asked}"
    plan: Mapping[str, Any] = (await connection.scalar(explained))[0]["Plan"]
    return plan


def _long_scans(plan: Mapping[str, Any], at_most: int) -> Iterator[str]:
    rows = sum(plan.get(name, 0) for name in SCANNED) * plan["Actual Loops"]
    if rows > at_most:
        of = plan.get("Index Name") or plan.get("Relation Name") or plan.get("Alias", "")
        yield f"{plan['Node Type']} {of}: {rows:.0f} rows"
    for below in plan.get("Plans", ()):
        yield from _long_scans(below, at_most)
