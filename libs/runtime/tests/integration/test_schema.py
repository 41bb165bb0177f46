"""The roles, and the tables of every service."""

from __future__ import annotations

import psycopg
import pytest
from tests.plugins.postgres import Database

from swap_runtime.schema import create_runtime_tables


class Op:
    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, sqltext: str) -> object:
        return self._connection.execute(sqltext)


def test_tables(database: Database) -> None:
    for role in ("settler", "api"):
        with psycopg.connect(database.url(role).replace("+psycopg", "")) as connection:
            create_runtime_tables(Op(connection))
            connection.execute(
                "INSERT INTO outbox (message_id, topic, key, payload) VALUES (gen_random_uuid(), 't','k','p')"
            )
            print(connection.execute("SELECT tableoid::regclass, * FROM outbox").fetchall())
    with psycopg.connect(database.url("api").replace("+psycopg", "")) as connection:
        assert connection.execute("SELECT count(*) FROM settler.outbox").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM settler.inbox")
