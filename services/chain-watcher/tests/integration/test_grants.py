"""Rights of other services on the chain-watcher's schema."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected


def connect_as(role: str, database: Database) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(database.url(role).replace("+psycopg", ""))


@pytest.mark.parametrize("role", ["settler", "api", "auditor"])
def test_progress_is_read_by_who_needs_it(database: Database, role: str) -> None:
    with connect_as(role, database) as connection:
        connection.execute(
            "SELECT network, block_number, block_time, final_number, last_outbox_id"
            " FROM chain_watcher.progress"
        )
        if role != "auditor":
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT * FROM chain_watcher.movement")


@pytest.mark.parametrize(
    ("role", "view"),
    [
        ("settler", "halted_network"),
        ("settler", "network_halt"),
        ("settler", "watched_target"),
        ("api", "halted_network"),
    ],
)
def test_views_are_read_by_who_pays_and_who_takes_swaps(
    database: Database, role: str, view: str
) -> None:
    with connect_as(role, database) as connection:
        connection.execute(f"SELECT * FROM chain_watcher.{view}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM chain_watcher.past_halt")


@pytest.mark.parametrize("role", ["settler", "api", "quoter", "notifier"])
@pytest.mark.fault("A18")
def test_a18_only_the_watcher_writes_what_happened_on_chain(database: Database, role: str) -> None:
    """Another service cannot create credits without deposits, even when it is compromised."""
    with (
        connect_as(role, database) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("INSERT INTO chain_watcher.movement DEFAULT VALUES")
