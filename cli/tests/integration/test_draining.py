"""The counts of `swapctl network drain`, on a migrated PostgreSQL read as its auditor."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from cli.tests.integration.test_swaps import FIXED

from swapctl.auditor import Auditor, open_auditor
from swapctl.draining import count_open_swaps, list_remains
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
NETWORK, OTHER = "BASE_DEVNET", "ETHEREUM_DEVNET"
ACCEPTED = {
    "sequence": 0, "is_unpaid": True, "source_network": OTHER, "destination_network": NETWORK,
    "destination_address": "0x7", "created_at": "2026-01-01", "expires_at": "2026-01-01",
    "document": b"{}", "step_status": "pending",
}  # fmt: skip


@pytest.fixture
def auditor(database: Database) -> Iterator[Auditor]:
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("DELETE FROM api.swap")
        connection.execute("DELETE FROM settler.swap")
    with open_auditor(database.url("auditor").replace("+psycopg", "")) as auditor:
        yield auditor


def accept(database: Database, number: int, **other: object) -> UUID:
    """Add a swap of the api, as a create does."""
    return _add(database, "api", {"status": "user_transfer_pending", **ACCEPTED, **other}, number)


def read_by_settler(database: Database, id: UUID, number: int, status: str) -> None:
    values = {**FIXED, "match_key": str(number), "status": status, "created_at": "2026-01-01"}
    _add(database, "settler", {**values, "id": id}, number)


def _add(database: Database, schema: str, values: dict[str, object], number: int) -> UUID:
    id = uuid4()
    row = {"id": id, "app_id": uuid4(), "sequence_number": number, **values}
    names, places = ", ".join(row), ", ".join(f"%({name})s" for name in row)
    with psycopg.connect(database.superuser_url) as connection:
        insert = f"INSERT INTO {schema}.swap ({names}) VALUES ({places})"
        connection.execute(insert.encode(), row)
    return id


def test_a_swap_that_the_settler_has_not_read_is_open(database: Database, auditor: Auditor) -> None:
    accept(database, 1)
    accept(database, 2, source_network=NETWORK, destination_network=OTHER)

    assert count_open_swaps(auditor, NETWORK) == 2
    [row] = list_remains(auditor, NETWORK)
    assert (row["what"], row["amount"]) == ("swaps not read by the settler", "2")
    assert "swapctl parked list" in row["to_do"]


def test_a_swap_of_another_network_or_that_has_ended_is_not_open(
    database: Database, auditor: Auditor
) -> None:
    accept(database, 1, destination_network="POLYGON_DEVNET")
    accept(database, 2, status="cancelled")

    assert count_open_swaps(auditor, NETWORK) == 0
    assert list_remains(auditor, NETWORK) == []


@pytest.mark.parametrize(("status", "count"), [("ls_transfer_pending", 1), ("completed", 0)])
def test_the_settler_decides_about_a_swap_that_it_has_read(
    database: Database, auditor: Auditor, status: str, count: int
) -> None:
    read_by_settler(database, accept(database, 1), 1, status)

    assert count_open_swaps(auditor, NETWORK) == count
