"""The documented tables are the migrated ones."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from sqlalchemy import create_engine, inspect

from swap_chain_watcher.adapters.tables import METADATA

pytestmark = pytest.mark.connected


@pytest.mark.parametrize("name", sorted(METADATA.tables))
def test_a_table_is_as_documented(migrated: Callable[[str], str], name: str) -> None:
    engine = create_engine(migrated("chain_watcher"))
    try:
        found = inspect(engine).get_columns(name)
        key = inspect(engine).get_pk_constraint(name)["constrained_columns"]
    finally:
        engine.dispose()

    documented = METADATA.tables[name]
    assert [(c["name"], c["type"].compile(engine.dialect), c["nullable"]) for c in found] == [
        (c.name, c.type.compile(engine.dialect), c.nullable) for c in documented.columns
    ]
    assert key == [column.name for column in documented.primary_key]


@pytest.mark.parametrize("role", ["settler", "api", "auditor"])
def test_progress_is_read_by_who_needs_it(
    migrated: Callable[[str], str], database: object, role: str
) -> None:
    own = migrated("chain_watcher")
    url = own.replace("chain_watcher:", f"{role}:").replace("+psycopg", "")

    with psycopg.connect(url) as connection:
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
    migrated: Callable[[str], str], database: object, role: str, view: str
) -> None:
    url = migrated("chain_watcher").replace("chain_watcher:", f"{role}:").replace("+psycopg", "")

    with psycopg.connect(url) as connection:
        connection.execute(f"SELECT * FROM chain_watcher.{view}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM chain_watcher.past_halt")


@pytest.mark.parametrize("role", ["settler", "api", "quoter", "notifier"])
@pytest.mark.fault("A18")
def test_a18_nobody_else_writes_what_happened_on_chain(
    migrated: Callable[[str], str], database: object, role: str
) -> None:
    """A stolen settler cannot credit what nobody paid."""
    url = migrated("chain_watcher").replace("chain_watcher:", f"{role}:").replace("+psycopg", "")

    with (
        psycopg.connect(url) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("INSERT INTO chain_watcher.movement DEFAULT VALUES")
