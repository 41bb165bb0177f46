"""The invariants on Postgres: queries over the views of deploy/postgres/invariants."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import psycopg

from swap_runtime.errors import RequestRefused, Unavailable
from swap_runtime.postgres.database import Engine, reading, transaction
from swap_runtime.postgres.sql import Statement, sql
from swap_settler.operator.decide.reports import InvariantResult
from swap_settler.records import Record

NAMED: Final = re.compile(r"^-- name: (.+)$", re.MULTILINE)
TIMEOUT: Final = timedelta(seconds=10)
ROWS_MAX: Final = 50  # of one invariant: enough to see what is wrong
# As a document: a query may name two columns alike.
ROWS_OF: Final = """
SELECT CAST(to_jsonb(violation) AS text) AS violation FROM (
{query}
) AS violation LIMIT {limit}
"""
NO_VIEWS: Final = "the views of the invariants are not installed, or not open to the settler"
HAS_VIEWS: Final = sql("""
SELECT coalesce(has_schema_privilege(to_regnamespace('invariant')::oid, 'USAGE'), false)
""")
# The settings, and the bound on the time of a query, end with the transaction.
SETTINGS: Final = {
    "search_path": "invariant",
    "transaction_read_only": "on",
}
ENTER: Final = sql("""
SELECT set_config(name, value, true)
FROM unnest(CAST(:names AS text[]), CAST(:values AS text[])) AS setting(name, value)
""")


class PostgresInvariants:
    def __init__(
        self, engine: Engine, queries: Mapping[str, str], *, timeout: timedelta = TIMEOUT
    ) -> None:
        """
        :param queries: by name; each returns the rows that break it.
        :param timeout: of one query.
        """
        self._engine = engine
        milliseconds = timeout // timedelta(milliseconds=1)
        settings = {**SETTINGS, "statement_timeout": str(milliseconds)}
        self._settings = {"names": list(settings), "values": list(settings.values())}
        self._statements = {
            name: Statement(ROWS_OF.format(query=text, limit=ROWS_MAX), ())
            for name, text in queries.items()
        }

    async def check(self, after_each: Callable[[], None]) -> Sequence[InvariantResult]:
        """Return the result of each query. A query that fails is a failure of its result alone.

        :param after_each: called after each query: together they may take minutes.
        :raises RequestRefused: when the views are not installed, or not open to the settler.
        :raises Unavailable: when Postgres is away at the start.
        """
        async with reading(self._engine) as connection:
            if not await connection.scalar(HAS_VIEWS, {}):
                raise RequestRefused(NO_VIEWS)
        results = []
        for name, statement in self._statements.items():
            results.append(await self._check(name, statement))
            after_each()
        return results

    async def _check(self, name: str, statement: Statement) -> InvariantResult:
        try:
            async with transaction(self._engine) as connection:
                await connection.execute(ENTER, self._settings)
                rows = await connection.execute(statement, {})
        except (Unavailable, psycopg.Error) as error:
            return InvariantResult(name, (), failure=str(error))
        return InvariantResult(name, tuple(_record(row.violation) for row in rows))


def _record(text: str) -> Record:
    """Return a row with its numbers as text: amounts do not fit into those of JSON."""
    record: Record = json.loads(text, parse_int=str, parse_float=str)
    return record


def read_queries(text: str) -> Mapping[str, str]:
    """Return the queries of a file, each below `-- name: …`.

    :raises ValueError: when there is none.
    """
    _, *parts = NAMED.split(text)
    if not parts:
        raise ValueError("the file of the invariants names no query")
    return {
        name: query.strip().removesuffix(";")
        for name, query in zip(parts[::2], parts[1::2], strict=True)
    }
