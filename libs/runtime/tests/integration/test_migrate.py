from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from swap_runtime.postgres.migrate import is_up_to_date, renew_statistics
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

FIRST = '''"""Make the shared tables."""

from alembic import op

from swap_runtime.postgres.schema import create_runtime_tables

revision = "0001"
down_revision = None


def upgrade() -> None:
    create_runtime_tables(op)
'''
BROKEN = '''"""Half of it."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("CREATE TABLE half (id int)")
    op.execute("SELECT 1 / 0")
'''
FILLED = '''"""One table with rows, and one without."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("CREATE TABLE filled AS SELECT generate_series(1, 70) AS n")
    op.execute("CREATE TABLE empty (n int)")
'''


@pytest.fixture(autouse=True)
def empty_schema(database: Database) -> None:
    """Remove the tables of earlier tests, which share the module's database."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("DROP SCHEMA chain_watcher CASCADE")
        connection.execute("CREATE SCHEMA chain_watcher AUTHORIZATION chain_watcher")


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    versions = tmp_path / "chain-watcher/migrations/versions"
    versions.mkdir(parents=True)
    (versions / "0001_first.py").write_text(FIRST)
    return versions.parent


def start(migrations: Path, database: Database, *options: str) -> subprocess.Popen[str]:
    url = database.url("chain_watcher")
    return subprocess.Popen(
        [sys.executable, "-m", "swap_runtime.postgres.migrate", *options, str(migrations)],
        env={**os.environ, "SWAP_CHAIN_WATCHER__DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def migrated(migrations: Path, database: Database) -> None:
    assert start(migrations, database).wait(timeout=60) == 0


def tables(database: Database) -> set[str]:
    with psycopg.connect(database.superuser_url) as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'chain_watcher'"
        )
        return {name for (name,) in rows}


NEVER_COUNTED = -1


def known_rows(database: Database, table: str) -> int:
    """Return the number of rows in the planner's statistics."""
    with psycopg.connect(database.superuser_url) as connection:
        row = connection.execute(
            "SELECT reltuples FROM pg_class WHERE oid = CAST(%s AS regclass)",
            [f"chain_watcher.{table}"],
        ).fetchone()
    assert row is not None
    return int(row[0])


class TestMigrate:
    @pytest.mark.fault("P9")
    def test_p9_replicas_that_start_together_migrate_once(
        self, migrations: Path, database: Database
    ) -> None:
        replicas = [start(migrations, database) for _ in range(3)]
        outputs = [replica.communicate(timeout=60)[0] for replica in replicas]

        assert [replica.returncode for replica in replicas] == [0, 0, 0]
        lines = [json.loads(text) for text in "".join(outputs).splitlines()]
        migrated = [(line["revision"], line["about"]) for line in lines]
        assert migrated == [("0001", "Make the shared tables.")]
        assert {"outbox", "inbox", "alembic_version"} <= tables(database)

    def test_failed_revision_leaves_no_tables(self, migrations: Path, database: Database) -> None:
        (migrations / "versions/0002_broken.py").write_text(BROKEN)

        replica = start(migrations, database)
        replica.communicate(timeout=60)

        assert replica.returncode != 0
        assert "half" not in tables(database)

    def test_tables_with_rows_are_analyzed_after_migration(
        self, migrations: Path, database: Database
    ) -> None:
        (migrations / "versions/0002_filled.py").write_text(FILLED)

        migrated(migrations, database)

        assert known_rows(database, "filled") == 70
        assert known_rows(database, "empty") == NEVER_COUNTED

    def test_a_locked_table_keeps_no_other_from_statistics(
        self, migrations: Path, database: Database
    ) -> None:
        (migrations / "versions/0002_filled.py").write_text(FILLED)
        migrated(migrations, database)
        url = database.url("chain_watcher").replace("+psycopg", "", 1)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE later AS SELECT generate_series(1, 30) AS n")
            connection.execute("INSERT INTO filled SELECT generate_series(1, 30)")
            with connection.transaction():
                connection.execute("LOCK TABLE filled IN SHARE UPDATE EXCLUSIVE MODE")
                renew_statistics(database.url("chain_watcher"))  # it waits two seconds
            rows = connection.execute(
                "SELECT relname, reltuples FROM pg_class"
                " WHERE relname IN ('filled', 'later') ORDER BY relname"
            ).fetchall()

        assert rows == [("filled", 70), ("later", 30)]


class TestWait:
    def test_ends_once_another_process_has_migrated(
        self, migrations: Path, database: Database
    ) -> None:
        waiting = start(migrations, database, "--wait")
        assert waiting.stdout is not None
        line = json.loads(waiting.stdout.readline())
        assert (line["event"], line["reason"]) == (
            "waiting for migrations",
            "the schema is not up to date",
        )
        assert waiting.poll() is None
        assert tables(database) == set()

        migrated(migrations, database)

        assert waiting.wait(timeout=60) == 0

    def test_waits_for_the_last_revision(self, migrations: Path, database: Database) -> None:
        url = database.url("chain_watcher")
        migrated(migrations, database)
        assert is_up_to_date(migrations, url)

        (migrations / "versions/0002_broken.py").write_text(BROKEN)

        assert not is_up_to_date(migrations, url)

    def test_a_former_release_has_nothing_to_do_on_the_schema_of_a_later_one(
        self, migrations: Path, database: Database
    ) -> None:
        later = migrations / "versions/0002_later.py"
        later.write_text(BROKEN.replace("1 / 0", "1"))
        migrated(migrations, database)

        later.unlink()

        assert is_up_to_date(migrations, database.url("chain_watcher"))
        migrated(migrations, database)

    def test_a_schema_from_before_the_first_revision_is_not_up_to_date(
        self, migrations: Path, database: Database
    ) -> None:
        migrated(migrations, database)
        first = migrations / "versions/0001_first.py"
        (migrations / "versions/0005_first.py").write_text(FIRST.replace("0001", "0005"))
        first.unlink()

        replica = start(migrations, database)

        output = "".join(replica.communicate(timeout=60))
        assert replica.returncode != 0
        assert "Can't locate revision identified by '0001'" in output

    def test_a_database_that_is_away_is_no_end(self, migrations: Path) -> None:
        with pytest.raises(OperationalError):
            is_up_to_date(migrations, "postgresql+psycopg://nobody@127.0.0.1:1/none")

    def test_the_address_may_be_in_a_file(
        self, migrations: Path, database: Database, tmp_path: Path
    ) -> None:
        (tmp_path / "url").write_text(database.url("chain_watcher") + "\n")
        environment = {**os.environ, "SWAP_CHAIN_WATCHER__DATABASE_URL_FILE": str(tmp_path / "url")}

        command = [sys.executable, "-m", "swap_runtime.postgres.migrate", str(migrations)]
        subprocess.run(command, env=environment, check=True, capture_output=True)

        assert "alembic_version" in tables(database)
