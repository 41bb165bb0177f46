"""The migrations up to the release make the same schema as the code of the release itself.

Deployments have this schema, so a change of it is a later revision. The first release had other
files: its migrations are one baseline per service since (ADR 0101).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from swap_runtime.postgres.migrate import migrate
from tests.plugins.postgres import Database, PostgresServer, created_database

pytestmark = pytest.mark.connected
ROOT: Final = Path(__file__).parents[1]
RELEASE: Final[Mapping[str, Any]] = tomllib.loads(
    (ROOT / "tests/released_revisions.toml").read_text()
)
REVISIONS: Final[Mapping[str, str]] = RELEASE["revisions"]
# Its place in v0.1.0. In later releases it is `swap_runtime.postgres.migrate`.
MIGRATE: Final = "swap_runtime.migrate"


@pytest.fixture(scope="module")
def released_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the release's commit."""
    folder = tmp_path_factory.mktemp("released")
    archive = folder / "release.tar"
    command = ["git", "-C", str(ROOT), "archive", f"--output={archive}"]
    commit = RELEASE["release"]["commit"]
    if subprocess.run([*command, commit, "libs", "services"], check=False).returncode != 0:
        pytest.skip("this clone has no history")
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def present(unmigrated_database: Database) -> Database:
    """The release's schemas, made by the present migrations."""
    for service, revision in REVISIONS.items():
        url = unmigrated_database.url(role_of(service))
        migrate(ROOT / "services" / service / "migrations", url, revision=revision)
    return unmigrated_database


@pytest.fixture(scope="module")
def released(postgres_server: PostgresServer, released_code: Path) -> Iterator[Database]:
    """The same schemas, made by the release."""
    libs = [str(path) for path in released_code.glob("libs/*/src")]
    with created_database(postgres_server, "released_schema") as made:
        variables = {
            f"SWAP_{role_of(service).upper()}__DATABASE_URL": made.url(role_of(service))
            for service in REVISIONS
        }
        folders = [f"services/{service}/migrations" for service in REVISIONS]
        subprocess.run(
            [sys.executable, "-m", MIGRATE, *folders],
            cwd=released_code,
            env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(libs)},
            check=True,
            capture_output=True,
        )
        yield made


@pytest.fixture
def changed(present: Database) -> Iterator[Database]:
    """A copy that a test may change."""
    with created_database(present.server, "changed_schema", present.name) as made:
        yield made


def role_of(service: str) -> str:
    return service.replace("-", "_")


def dumped(database: Database, role: str) -> str:
    """Return the statements that make a schema and its rows, without partitions of days."""
    pg_dump = Path(database.server.psql).with_name("pg_dump")
    options = ["--inserts", f"--schema={role}", f"--exclude-table={role}.outbox_2*"]
    dump = subprocess.run(
        [str(pg_dump), *options, database.superuser_url], check=True, capture_output=True, text=True
    )
    # Each dump has another key.
    return "\n".join(line for line in dump.stdout.splitlines() if "restrict" not in line[:12])


@pytest.mark.parametrize("service", sorted(REVISIONS))
def test_the_first_migration_is_not_later_than_the_release(service: str) -> None:
    versions = (ROOT / "services" / service / "migrations/versions").glob("*.py")

    assert min(path.name for path in versions)[:4] <= REVISIONS[service]


@pytest.mark.parametrize("service", sorted(REVISIONS))
def test_the_migrations_up_to_the_release_make_its_schema(
    present: Database, released: Database, service: str
) -> None:
    dump = dumped(present, role_of(service))

    assert "CREATE TABLE" in dump
    assert dump == dumped(released, role_of(service))


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE lease ADD COLUMN network text",
        "ALTER TABLE lease ALTER COLUMN holder DROP NOT NULL",
        "ALTER TABLE parked RENAME CONSTRAINT parked_state_check TO parked_state",
        "DROP INDEX inbox_at",
        "REVOKE SELECT ON outbox FROM outbox_reader",
        "INSERT INTO lease VALUES ('relay', 'one', 1, now())",
    ],
)
def test_such_a_change_is_found(changed: Database, change: str) -> None:
    before = dumped(changed, "quoter")
    url = changed.url("quoter").replace("+psycopg", "")
    with psycopg.connect(url) as connection:
        connection.execute(change.encode())

    assert dumped(changed, "quoter") != before
