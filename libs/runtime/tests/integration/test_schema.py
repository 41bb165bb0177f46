"""Guarantees of the roles and of the first migration."""

from __future__ import annotations

import psycopg
import pytest

from libs.runtime.tests.fakes import make_tables
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
# Everything that roles.sql sets, but for passwords; an entry of an access list is a row.
RIGHTS = """
SELECT 'role', rolname, concat(rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, rolinherit)
FROM pg_roles
UNION ALL SELECT 'member', roleid::regrole::text, member::regrole::text FROM pg_auth_members
UNION ALL SELECT 'setting', setrole::regrole::text, setting
FROM pg_db_role_setting, unnest(setconfig) AS setting
UNION ALL SELECT 'database', datname, acl::text FROM pg_database, unnest(datacl) AS acl
WHERE datname = current_database()
UNION ALL SELECT 'owner', nspname, nspowner::regrole::text FROM pg_namespace
UNION ALL SELECT 'schema', nspname, acl::text FROM pg_namespace, unnest(nspacl) AS acl
UNION ALL SELECT 'default', defaclrole::regrole::text, acl::text
FROM pg_default_acl, unnest(defaclacl) AS acl
ORDER BY 1, 2, 3
"""


def connect(database: Database, role: str) -> psycopg.Connection:
    return psycopg.connect(database.url(role).replace("+psycopg", ""))


@pytest.fixture(scope="module", autouse=True)
def tables(database: Database) -> None:
    for role in ("settler", "api"):
        make_tables(database.url(role))


class TestRoles:
    def test_are_unchanged_when_they_are_applied_again(self, database: Database) -> None:
        with psycopg.connect(database.superuser_url) as connection:
            before = connection.execute(RIGHTS).fetchall()

        database.apply_roles()

        with psycopg.connect(database.superuser_url) as connection:
            after = connection.execute(RIGHTS).fetchall()
        assert ("owner", "settler", "settler") in before
        assert after == before

    def test_a_service_reads_the_outbox_and_the_watermarks_of_another(
        self, database: Database
    ) -> None:
        with connect(database, "api") as connection:
            assert connection.execute("SELECT count(*) FROM settler.outbox").fetchone() == (0,)
            assert connection.execute("SELECT count(*) FROM settler.watermark").fetchone() == (0,)

    @pytest.mark.parametrize("table", ["inbox", "parked", "lease"])
    def test_a_service_reads_nothing_else_of_another(self, database: Database, table: str) -> None:
        with (
            connect(database, "api") as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(f"SELECT FROM settler.{table}")

    def test_a_service_does_not_write_the_outbox_of_another(self, database: Database) -> None:
        with (
            connect(database, "api") as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("DELETE FROM settler.outbox")

    def test_the_auditor_reads_tables_that_are_made_later(self, database: Database) -> None:
        with connect(database, "settler") as connection:
            connection.execute("CREATE TABLE later (id int)")
        with connect(database, "auditor") as connection:
            connection.execute("SELECT FROM settler.later")
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute("CREATE TABLE settler.mine (id int)")

    def test_no_role_creates_tables_in_public(self, database: Database) -> None:
        with (
            connect(database, "api") as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("CREATE TABLE public.mine (id int)")


class TestOutbox:
    def test_a_row_is_in_the_partition_of_its_day(self, database: Database) -> None:
        with connect(database, "settler") as connection:
            connection.execute(
                "INSERT INTO outbox (message_id, topic, key, payload) "
                "VALUES (gen_random_uuid(), 't', 'k', 'p')"
            )
            found = connection.execute(
                "SELECT tableoid::regclass::text, "
                "to_char(now() AT TIME ZONE 'UTC', '\"outbox_\"YYYYMMDD') FROM outbox"
            ).fetchone()
            connection.rollback()

        assert found is not None
        assert found[0] == found[1]
