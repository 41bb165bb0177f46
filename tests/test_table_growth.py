"""`docs/scaling.md` lists every table with what ends its growth; a new table must decide."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.plugins.postgres import SERVICES, Database

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/scaling.md"
SECTION: Final = "## Growth of tables"
DELETED: Final = "### Deleted"
NAMED: Final = re.compile(r"`([a-z_]+|\*)\.([a-z_]+)`")
# PostgreSQL lists partitions as separate tables.
TABLES: Final = """
SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = ANY(%s) AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> 'alembic_version'
"""
# Rows that are removed without a DELETE.
ENDS: Final = {
    "outbox": "DROP TABLE {day}",
    "delivery_attempt": "REFERENCES webhook_message ON DELETE CASCADE",
}


def rows_under(heading: str) -> Sequence[str]:
    """Return the first cells of the tables below a heading, up to the next of its level."""
    level = heading.split(" ", maxsplit=1)[0]
    text = PAGE.read_text().split(f"{heading}\n", 1)[1]
    section = re.split(rf"^{level} ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]


def tables_in(rows: Sequence[str], there: frozenset[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Count the tables of the cells; `*` stands for every service with the table."""
    named: Counter[tuple[str, str]] = Counter()
    for schema, table in (found for row in rows for found in NAMED.findall(row)):
        every = [each for each, name in there if name == table] if schema == "*" else [schema]
        named.update((each, table) for each in every)
    return named


@pytest.fixture
def tables(database: Database) -> frozenset[tuple[str, str]]:
    with psycopg.connect(database.superuser_url) as connection:
        return frozenset(connection.execute(TABLES, (list(SERVICES),)).fetchall())


@pytest.mark.connected
def test_every_table_has_one_documented_growth_limit(tables: frozenset[tuple[str, str]]) -> None:
    named = tables_in(rows_under(SECTION), tables)

    assert tables - named.keys() == set(), "say in docs/scaling.md what ends their growth"
    assert named.keys() - tables == set(), "there are no such tables"
    assert [name for name, times in named.items() if times > 1] == []


@pytest.mark.connected
def test_every_table_listed_as_deleted_has_a_delete_statement(
    tables: frozenset[tuple[str, str]],
) -> None:
    source = "\n".join(
        path.read_text()
        for folder in ("services", "libs/runtime")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".sql") and "tests" not in path.parts
    )

    standing = [
        table
        for _, table in tables_in(rows_under(DELETED), tables)
        if ENDS.get(table, "") not in source
        or (table not in ENDS and not re.search(rf"DELETE FROM {table}\b", source))
    ]
    assert standing == []
