"""Refuses to run on a schema that is older than the code."""

from __future__ import annotations

from typing import Final

from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql

IS_MIGRATED: Final = sql("""
SELECT to_regclass(quote_ident(current_schema()) || '.alembic_version') IS NOT NULL AS is_migrated
""")
VERSION: Final = sql("SELECT version_num FROM alembic_version")


class SchemaTooOld(Exception):
    """The service's schema lacks migrations that its code needs."""

    def __init__(self, service: str, *, applied: str | None, needed: str) -> None:
        folder = f"services/{service.replace('_', '-')}/migrations"
        super().__init__(
            f"the schema of {service} is at revision {applied or 'none'}, and this release needs "
            f"{needed}: run `python -m swap_runtime.postgres.migrate {folder}` first"
        )


async def require_schema(engine: Engine, service: str, *, needed: str) -> None:
    """Make sure that the migrations up to a revision have run. A newer schema is fine: a rollback.

    Revisions are numbers of four digits that grow.

    :raises SchemaTooOld: when they have not.
    """
    async with reading(engine) as connection:
        is_migrated = await connection.scalar(IS_MIGRATED)
        applied = await connection.scalar(VERSION) if is_migrated else None
    if applied is None or applied < needed:
        raise SchemaTooOld(service, applied=applied, needed=needed)
