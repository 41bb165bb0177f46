"""The SQL invariants of deploy/postgres/invariants, for the end of a test."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import psycopg

from tests.plugins.postgres import Database

FOLDER = Path(__file__).parents[2] / "deploy/postgres/invariants"
QUERY = re.compile(r"-- name: (I-\d\d) (.*?)\n(.*?)(?=\n-- name:|\Z)", re.S)
QUERIES: Mapping[str, tuple[str, str]] = {
    number: (title, query)
    for number, title, query in QUERY.findall((FOLDER / "queries.sql").read_text())
}
# Invariants on the tables of one service, which hold without a watcher, a relay or a notifier.
OF_THE_SETTLER = (
    "I-01", "I-02", "I-03", "I-04", "I-05", "I-07", "I-13", "I-14", "I-15", "I-16", "I-18", "I-19",
    "I-20", "I-21", "I-22", "I-24", "I-27", "I-28", "I-30", "I-31", "I-32", "I-35",
)  # fmt: skip
OF_THE_WATCHER = ("I-11", "I-12")


def make_views(superuser_url: str, payout_confirmations: Mapping[str, int | None]) -> None:
    """Create the views, with each network's policy. Every service must be migrated."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute((FOLDER / "views.sql").read_text())
        connection.cursor().executemany(
            "INSERT INTO invariant.network VALUES (%s, %s)", list(payout_confirmations.items())
        )


class Audit:
    """Checks a service's invariants after each of its tests that used the database."""

    def __init__(self, only: Collection[str]) -> None:
        self._only = only
        self._url: str | None = None

    def begin(self, database: Database) -> None:
        """Create the views of a module's database; every service has tables in them."""
        if self._url is None:
            make_views(database.superuser_url, {})
            self._url = database.url("auditor").replace("+psycopg", "")

    def check(self, *, excused: Collection[str] = ()) -> None:
        """
        :raises AssertionError: with the rows that break an invariant.
        """
        if self._url is not None:
            only = [number for number in self._only if number not in excused]
            found = violations(self._url, only)
            assert not found, found


def violations(
    url: str, only: Collection[str] = tuple(QUERIES)
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows that break an invariant, by its number and title; empty if all hold."""
    found = {}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = invariant")
        for number in only:
            title, query = QUERIES[number]
            rows = connection.execute(query.encode()).fetchmany(5)
            if rows:
                found[f"{number} {title}"] = rows
    return found
