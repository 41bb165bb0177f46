from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

FIRST = '''"""Make the shared tables."""

from alembic import op

from swap_runtime.schema import create_runtime_tables

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


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    versions = tmp_path / "chain-watcher/migrations/versions"
    versions.mkdir(parents=True)
    (versions / "0001_first.py").write_text(FIRST)
    return versions.parent


def start(migrations: Path, database: Database) -> subprocess.Popen[str]:
    url = database.url("chain_watcher")
    return subprocess.Popen(
        [sys.executable, "-m", "swap_runtime.migrate", str(migrations)],
        env={**os.environ, "SWAP_CHAIN_WATCHER__DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def tables(database: Database) -> set[str]:
    with psycopg.connect(database.superuser_url) as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'chain_watcher'"
        )
        return {name for (name,) in rows}


class TestMigrate:
    @pytest.mark.fault("P9")
    def test_p9_replicas_that_start_together_migrate_once(
        self, migrations: Path, database: Database
    ) -> None:
        replicas = [start(migrations, database) for _ in range(3)]
        said = [replica.communicate(timeout=60)[0] for replica in replicas]

        assert [replica.returncode for replica in replicas] == [0, 0, 0]
        lines = [json.loads(text) for text in "".join(said).splitlines()]
        migrated = [(line["revision"], line["about"]) for line in lines]
        assert migrated == [("0001", "Make the shared tables.")]
        assert {"outbox", "inbox", "alembic_version"} <= tables(database)

    def test_nothing_of_a_failed_revision_stays(self, migrations: Path, database: Database) -> None:
        (migrations / "versions/0002_broken.py").write_text(BROKEN)

        replica = start(migrations, database)
        replica.communicate(timeout=60)

        assert replica.returncode != 0
        assert "half" not in tables(database)
