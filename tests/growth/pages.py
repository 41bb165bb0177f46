"""The pages of tables and indexes that statements read; other load does not change them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

import psycopg

from tests.plugins.postgres import Database

RESET: Final = """
SELECT pg_stat_statements_reset(0, oid, 0) FROM pg_database WHERE datname = current_database()
"""
# Statements of the services only: the test queries as the superuser.
TOUCHED: Final = """
SELECT regexp_replace(query, '\\s+', ' ', 'g'), calls, shared_blks_hit + shared_blks_read,
       shared_blks_read
FROM pg_stat_statements AS statement JOIN pg_database ON pg_database.oid = dbid
WHERE datname = current_database() AND userid <> (SELECT oid FROM pg_roles
    WHERE rolname = current_user)
"""


class TouchedPages(NamedTuple):
    """The pages that a statement read in all its calls; those in `read` were not cached."""

    text: str
    calls: int
    pages: int
    read: int


@dataclass(slots=True)
class PageCount:
    """The pages that the services' statements read between two times."""

    statements: list[TouchedPages]

    @property
    def pages(self) -> int:
        return sum(each.pages for each in self.statements)

    @property
    def read(self) -> int:
        return sum(each.read for each in self.statements)


class Pages:
    """Counts pages on one database, one count at a time."""

    def __init__(self, database: Database) -> None:
        self._url = database.superuser_url
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    @contextmanager
    def count_pages(self) -> Iterator[PageCount]:
        """Yield a count that is filled at the end."""
        count = PageCount([])
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(RESET)
            yield count
            count.statements.extend(map(TouchedPages._make, connection.execute(TOUCHED)))
