"""The schema made by migrations, compared with the models that are the source of some tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, MetaData, create_engine, inspect, text

from tests.plugins.postgres import Database


def differences(database: Database, schema: str, metadata: MetaData) -> Sequence[Any]:
    """Return the changes by which alembic would make the database's tables equal to the models.

    Tables without a model are left out. Alembic does not compare checks, so their names and
    conditions are compared here, both as PostgreSQL writes them.
    """
    # The superuser may create the temporary tables in which PostgreSQL rewrites checks.
    url = database.superuser_url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(url, connect_args={"options": f"-c search_path={schema}"})

    def is_of_a_model(name: str | None, kind: str, parents: Mapping[str, str | None]) -> bool:
        table = name if kind == "table" else parents.get("table_name")
        return kind == "schema" or table in metadata.tables

    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(
                connection,
                opts={
                    "include_name": is_of_a_model,
                    "compare_type": True,
                    "compare_server_default": True,
                },
            )
            found: list[Any] = list(compare_metadata(context, metadata))
            for table in metadata.tables.values():
                migrated = {
                    str(check["name"]): check["sqltext"]
                    for check in inspect(connection).get_check_constraints(table.name)
                }
                declared = {
                    str(each.name): _written_condition(connection, table.name, str(each.sqltext))
                    for each in table.constraints
                    if isinstance(each, CheckConstraint)
                }
                if migrated != declared:
                    found.append((table.name, migrated, declared))
    finally:
        engine.dispose()
    return found


def _written_condition(connection: Any, table: str, condition: str) -> str:
    """Return a condition as PostgreSQL writes it: of a check on a copy of the table."""
    with connection.begin_nested() as nested:
        connection.execute(text(f"CREATE TEMPORARY TABLE copied (LIKE {table})"))
        connection.execute(text(f"ALTER TABLE copied ADD CONSTRAINT written CHECK ({condition})"))
        (check,) = inspect(connection).get_check_constraints("copied")
        nested.rollback()
    return str(check["sqltext"])
