"""Reads the database with a read-only role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from swapctl.admin_client import RequestFailed

Row = dict[str, Any]


class Auditor:
    """One connection; it is read-only, whatever the rights of its role."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def rows(self, query: LiteralString | bytes, values: Sequence[object] = ()) -> list[Row]:
        """
        :raises RequestFailed: when the query cannot be answered.
        """
        try:
            # None: with an empty sequence psycopg would read a % in the query as a placeholder.
            return self._connection.execute(query, values or None).fetchall()
        except psycopg.Error as error:
            raise RequestFailed(f"the database refused the query: {error}".strip()) from error

    def use_schema(self, schema: str) -> None:
        """Set the schema of tables that are named without one.

        :raises RequestFailed: when the query cannot be answered.
        """
        self.rows("SELECT set_config('search_path', %s, false)", [schema])

    def has_table(self, name: str) -> bool:
        (row,) = self.rows("SELECT to_regclass(%s) IS NOT NULL AS is_there", [name])
        return bool(row["is_there"])


@contextmanager
def open_auditor(url: str) -> Iterator[Auditor]:
    """
    :raises RequestFailed: when the database cannot be reached.
    """
    try:
        connection = psycopg.connect(
            url,
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=5,
            options="-c default_transaction_read_only=on",
        )
    except psycopg.Error as error:
        raise RequestFailed(f"the database cannot be reached: {error}".strip()) from error
    with connection:
        yield Auditor(connection)
