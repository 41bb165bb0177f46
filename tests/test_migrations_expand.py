"""The services of the release before may run while, and after, the schema is migrated.

Each service's schema is made as of the release, and its statements are prepared by a session that
stays open. After the migration all of them are still valid, and no new rule refuses their rows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from swap_runtime.postgres.migrate import migrate
from tests.plugins.postgres import Database

pytestmark = [pytest.mark.connected, pytest.mark.fault("P9")]
ROOT = Path(__file__).parents[1]
RELEASE: Mapping[str, Any] = tomllib.loads((ROOT / "tests/released_revisions.toml").read_text())
COLUMNS = """
SELECT relation.relname, attname, format_type(atttypid, atttypmod) AS type,
       attnotnull AND NOT atthasdef AND attidentity = '' AS is_required,
       attgenerated <> '' OR attidentity = 'a' AS is_made
FROM pg_attribute JOIN pg_class AS relation ON relation.oid = attrelid
WHERE relnamespace = CAST(%(schema)s AS regnamespace) AND relkind IN ('r', 'p')
    AND NOT relispartition AND attnum > 0 AND NOT attisdropped ORDER BY 1, attnum
"""
# What may refuse a row: checks, foreign keys, and indexes that are unique.
RULES = """
SELECT relation.relname, conname AS name, pg_get_constraintdef(oid) AS definition,
    ARRAY(SELECT attname::text FROM pg_attribute
          WHERE attrelid = conrelid AND attnum = ANY(conkey)) AS columns
FROM pg_constraint CROSS JOIN LATERAL (
    SELECT relname, relispartition FROM pg_class WHERE pg_class.oid = conrelid) AS relation
WHERE connamespace = CAST(%(schema)s AS regnamespace) AND contype IN ('c', 'f', 'x')
    AND NOT relation.relispartition
UNION ALL
SELECT relation.relname, named.relname, pg_get_indexdef(indexrelid),
    ARRAY(SELECT attname::text FROM pg_attribute
          WHERE attrelid = indrelid AND attnum = ANY(indkey))
FROM pg_index JOIN pg_class AS named ON named.oid = indexrelid
JOIN pg_class AS relation ON relation.oid = indrelid
WHERE named.relnamespace = CAST(%(schema)s AS regnamespace) AND indisunique
    AND NOT relation.relispartition
"""


class Column(NamedTuple):
    type: str
    is_required: bool  # it has neither a default nor room for no value
    is_made: bool  # by Postgres alone


class Schema(NamedTuple):
    tables: Mapping[str, Mapping[str, Column]]
    rules: Mapping[tuple[str, str, str], frozenset[str]]  # and the columns they are about


def schema_of(connection: psycopg.Connection[Any], schema: str) -> Schema:
    tables: dict[str, dict[str, Column]] = {}
    for table, column, *what in connection.execute(COLUMNS, {"schema": schema}):
        tables.setdefault(table, {})[column] = Column(*what)
    rules = {
        (table, name, definition): frozenset(columns)
        for table, name, definition, columns in connection.execute(RULES, {"schema": schema})
    }
    return Schema(tables, rules)


def prepare(connection: psycopg.Connection[Any], released: Schema) -> list[str]:
    """Prepare what the release reads and writes of each table; return the reads."""
    reads = []
    for number, (table, columns) in enumerate(sorted(released.tables.items())):
        written = [name for name, column in columns.items() if not column.is_made]
        names = SQL(", ").join(map(Identifier, columns))
        column_list = SQL(", ").join(map(Identifier, written))
        values = SQL(", ").join(SQL(f"${n}") for n, _ in enumerate(written, 1))
        changes = SQL(", ").join(
            SQL("{} = {}").format(Identifier(name), SQL(f"${n}"))
            for n, name in enumerate(written, 1)
        )
        of = Identifier(table)
        statements = (
            SQL("PREPARE read_{} AS SELECT {} FROM {} LIMIT 1").format(SQL(f"{number}"), names, of),
            SQL("PREPARE write_{} AS INSERT INTO {} ({}) VALUES ({})").format(
                SQL(f"{number}"), of, column_list, values
            ),
            SQL("PREPARE change_{} AS UPDATE {} SET {}").format(SQL(f"{number}"), of, changes),
        )
        for statement in statements:
            connection.execute(statement)
        reads.append(f"read_{number}")
    return reads


def refusals(before: Schema, after: Schema, accepted: frozenset[str]) -> list[str]:
    """Say what refuses rows that the release writes."""
    found = []
    for table, columns in before.tables.items():
        for name, column in after.tables.get(table, {}).items():
            released = columns.get(name)
            if column.is_required and (released is None or not released.is_required):
                found.append(f"{table}.{name} has to be given")
    for (table, name, definition), columns in after.rules.items():
        is_new = (table, name, definition) not in before.rules and table in before.tables
        about_released = columns & set(before.tables.get(table, ()))
        if is_new and about_released and f"{table}.{name}" not in accepted:
            found.append(f"{table}: {name} is new: {definition}")
    return found


@pytest.fixture(scope="module")
def database(unmigrated_database: Database) -> Database:
    return unmigrated_database


@pytest.fixture
def released(request: pytest.FixtureRequest, database: Database) -> Iterator[Any]:
    """A service's schema as of the release, and a session of a service that runs."""
    service: str = request.param
    role = service.replace("-", "_")
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {role} CASCADE".encode())
    database.apply_roles()
    migrations = ROOT / "services" / service / "migrations"
    migrate(migrations, database.url(role), revision=RELEASE["revisions"][service])
    url = database.url(role).replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as session:
        yield service, role, session


def compared(role: str, session: psycopg.Connection[Any], database: Database, change: Any) -> None:
    """Prepare the release's statements, change the schema, and use them again."""
    before = schema_of(session, role)
    reads = prepare(session, before)

    change()

    for read in reads:
        session.execute(f"EXECUTE {read}".encode())
    session.execute("DEALLOCATE ALL")
    prepare(session, before)
    after = schema_of(session, role)
    assert refusals(before, after, frozenset(RELEASE["accepted"])) == []


@pytest.mark.parametrize("released", sorted(RELEASE["revisions"]), indirect=True)
def test_p9_statements_of_the_release_are_valid_after_a_migration(
    released: Any, database: Database
) -> None:
    service, role, session = released
    migrations = ROOT / "services" / service / "migrations"

    compared(role, session, database, lambda: migrate(migrations, database.url(role)))


@pytest.mark.parametrize("released", ["quoter"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE outbox DROP COLUMN published_at CASCADE",
        "ALTER TABLE inbox RENAME COLUMN consumer TO reader",
        "ALTER TABLE inbox RENAME TO seen",
        "ALTER TABLE lease ALTER COLUMN epoch TYPE numeric",
        "ALTER TABLE lease ADD COLUMN network text NOT NULL",
        "ALTER TABLE lease ADD CHECK (holder <> 'old')",
        "CREATE UNIQUE INDEX ON lease (holder)",
        "DROP TABLE watermark CASCADE",
    ],
)
def test_p9_a_change_that_the_release_does_not_bear_is_found(
    released: Any, database: Database, change: str
) -> None:
    _, role, session = released

    def migrate_wrongly() -> None:
        with psycopg.connect(database.url(role).replace("+psycopg", "")) as other:
            other.execute(change.encode())

    with pytest.raises((psycopg.Error, AssertionError)):
        compared(role, session, database, migrate_wrongly)
