"""Brings a service's schema up to date.

    python -m swap_runtime.postgres.migrate services/settler/migrations
    python -m swap_runtime.postgres.migrate --wait services/settler/migrations

A migrations folder holds `versions/*.py`, and the SQL that the first revision runs. The service's
name is the folder above it; the address comes from that service's own variable
(`SWAP_SETTLER__DATABASE_URL`, or `SWAP_SETTLER__DATABASE_URL_FILE`). With `--wait` nothing is
changed: the process ends once another one has brought the schema up to date.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

import structlog
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from swap_runtime.setting_files import read_variable
from swap_runtime.telemetry.logging import configure_logging

ENVIRONMENT: Final = Path(__file__).parent / "alembic_env"
WAIT: Final = "--wait"
# A new column or index has no statistics, and autovacuum makes some only once rows change. An empty
# table is left alone: without statistics it is planned for as if it had a few pages.
TABLES: Final = """
SELECT CAST(CAST(oid AS regclass) AS text) FROM pg_class
WHERE relnamespace = CAST(quote_ident(current_schema()) AS regnamespace)
    AND relkind IN ('r', 'p') AND NOT relispartition
ORDER BY oid
"""
# ANALYZE waits for VACUUM and some DDL of the same table; what waits behind it waits this long.
LOCK_TIMEOUT: Final = "SET lock_timeout = '2s'"
LOCK_NOT_AVAILABLE: Final = "55P03"
POLL_SECONDS: Final = 1
log = structlog.get_logger()


def migrate(migrations: Path, url: str, *, revision: str = "head") -> None:
    """Run what has not run yet, then renew statistics; replicas wait for one another.

    :raises Exception: as Alembic or Postgres does; nothing of a failed revision stays.
    """
    config = _config(migrations)
    config.attributes["url"] = url
    command.upgrade(config, revision)
    renew_statistics(url)


def renew_statistics(url: str) -> None:
    """Analyze each table that has rows, in a separate transaction.

    A table that is locked for longer is left out: autovacuum analyzes it later.
    """
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(LOCK_TIMEOUT))
        for table in connection.scalars(text(TABLES)).all():
            try:
                if connection.scalar(text(f"SELECT EXISTS (SELECT FROM {table})")):
                    connection.execute(text(f"ANALYZE {table}"))
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                    raise
                log.warning("table not analyzed", table=table, reason="it is locked")


def is_up_to_date(migrations: Path, url: str) -> bool:
    """Return whether the schema has every revision of the folder, or is of a later release.

    A later release only adds, so that the code of this one still runs on its schema: a rollback
    waits for nothing. Revisions are numbers of four digits that grow.

    :raises OperationalError: when Postgres does not answer, or does not accept the login.
    """
    head = ScriptDirectory.from_config(_config(migrations)).get_current_head()
    engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 5})
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    return current is not None and head is not None and current >= head


def bring_up_to_date(migrations: Path, url: str) -> None:
    """Migrate, unless the schema is of a later release: a rollback runs its migrations too."""
    if not is_up_to_date(migrations, url):
        migrate(migrations, url)


def wait_until_migrated(migrations: Path, url: str) -> None:
    """Return once the schema is up to date; a database that is away is tried again."""
    reason = None
    while True:
        try:
            if is_up_to_date(migrations, url):
                return
            missing = "the schema is not up to date"
        except OperationalError as error:
            missing = f"no database: {error.orig}"
        if missing != reason:
            log.info("waiting for migrations", reason=missing)
        reason = missing
        time.sleep(POLL_SECONDS)


def _config(migrations: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(ENVIRONMENT))
    config.set_main_option("version_locations", str(migrations.resolve() / "versions"))
    config.set_main_option("path_separator", "os")
    return config


def main(arguments: list[str]) -> int:
    """Migrate each folder given, or wait until another process has."""
    configure_logging("migrate")
    folders = [argument for argument in arguments if argument != WAIT]
    if not folders:
        sys.stderr.write(
            "usage: python -m swap_runtime.postgres.migrate [--wait] services/<name>/migrations…\n"
        )
        return 2
    run = wait_until_migrated if WAIT in arguments else bring_up_to_date
    for folder in folders:
        migrations = Path(folder).resolve()
        service = migrations.parent.name.replace("-", "_")
        url = read_variable(os.environ, f"SWAP_{service.upper()}__DATABASE_URL")
        run(migrations, url)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
