"""`swapctl swap` and the doctor's database checks, on a migrated PostgreSQL."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from typer.testing import CliRunner

from swap_domain.lifecycle import Status
from swapctl.admin_client import RequestFailed
from swapctl.app import app
from swapctl.commands.doctor import SCHEMAS
from swapctl.commands.swaps import SwapStatus
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
FIXED = {
    "sequence": 1, "method": "direct", "source_network": "ETHEREUM_DEVNET", "source_token": "0x0",
    "source_decimals": 18, "destination_network": "BASE_DEVNET", "destination_token": "0x0",
    "destination_decimals": 18, "destination_address": "0x7", "requested_base_units": 10**18,
    "payout_base_units": 9 * 10**17, "fee_base_units": 10**17, "quote": "{}", "quote_revision": 0,
    "quote_expires_at": "2026-01-01", "expires_at": "2026-01-01", "changed_at": "2026-01-01",
    "trace_id": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def swaps(database: Database) -> tuple[UUID, UUID]:
    """Two swaps; the second is newer and has a transition and a deposit."""
    first, second = uuid4(), uuid4()
    with psycopg.connect(database.superuser_url) as connection:
        for number, (id, status) in enumerate(
            [(first, "completed"), (second, "ls_transfer_pending")], 1
        ):
            row = {
                **FIXED, "id": id, "app_id": uuid4(), "sequence_number": number,
                "match_key": str(number), "status": status, "created_at": f"2026-01-0{number}",
            }  # fmt: skip
            names, values = ", ".join(row), ", ".join(f"%({name})s" for name in row)
            connection.execute(f"INSERT INTO settler.swap ({names}) VALUES ({values})", row)  # type: ignore[arg-type]
        connection.execute(
            "INSERT INTO settler.swap_transition "
            "(swap_id, sequence, from_status, to_status, at, cause) "
            "VALUES (%s, 1, NULL, 'user_transfer_pending', '2026-01-02', 'swap_requested')",
            [second],
        )
    return first, second


def invoke(database: Database, *arguments: str) -> Any:
    url = database.url("auditor")
    return CliRunner().invoke(app, ["--auditor-url", url, *arguments])


def run(database: Database, *arguments: str) -> Any:
    result = invoke(database, *arguments, "--json")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


class TestList:
    def test_shows_the_newest_first(self, database: Database, swaps: tuple[UUID, UUID]) -> None:
        found = run(database, "swap", "list")

        assert [row["id"] for row in found] == [str(swaps[1]), str(swaps[0])]

    def test_shows_one_status(self, database: Database, swaps: tuple[UUID, UUID]) -> None:
        found = run(database, "swap", "list", "--status", "completed")

        assert [row["id"] for row in found] == [str(swaps[0])]

    def test_refuses_a_status_that_none_has(self, database: Database) -> None:
        refused = invoke(database, "swap", "list", "--status", "nonsense")

        assert refused.exit_code == 2
        assert {*SwapStatus} == {status.value for status in Status}


class TestShow:
    def test_has_the_state_and_its_parts(
        self, database: Database, swaps: tuple[UUID, UUID]
    ) -> None:
        found = run(database, "swap", "show", str(swaps[1]))

        assert (found["status"], found["requested_base_units"]) == (
            "ls_transfer_pending",
            str(10**18),
        )
        assert [(row["to_status"], row["cause"]) for row in found["transitions"]] == [
            ("user_transfer_pending", "swap_requested")
        ]
        assert found["deposits"] == found["payments"] == []

    def test_names_an_unknown_swap(self, database: Database) -> None:
        with pytest.raises(RequestFailed, match="the settler has no swap"):
            run(database, "swap", "show", str(uuid4()))


class TestDoctor:
    def test_compares_every_schema_with_the_checkout(self, database: Database) -> None:
        found = {row["part"]: row for row in run(database, "doctor")}

        assert {found[f"migrations {schema}"]["level"] for schema in SCHEMAS} == {"ok"}
        assert found["database"]["level"] == found["outbox settler"]["level"] == "ok"
