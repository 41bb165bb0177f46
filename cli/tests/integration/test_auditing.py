"""The trail and the invariants, read from a real PostgreSQL as its auditor."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner

from swapctl.admin_client import RequestFailed
from swapctl.app import app
from swapctl.auditor import open_auditor
from swapctl.commands.invariants import QUERIES, read_queries
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
SWAP_ID, BY_ADDRESS = str(uuid4()), str(uuid4())
DEPOSIT_ADDRESS = "0x" + "d1" * 20
INPUT_HASH = "0x" + "11" * 32


@pytest.fixture(scope="module")
def outboxes(database: Database) -> Database:
    """Outboxes of three services with messages about two swaps."""
    mine = {"sequence_number": 77, "transactions": [_transaction(INPUT_HASH)]}
    requested = {"sequence_number": 77, "type": "SwapRequested"}
    _print_line(database, "api", "swap.requests.v1", SWAP_ID, requested)
    _print_line(database, "chain_watcher", "deposit.changed.v1", "d1", _movement(INPUT_HASH, 77))
    _print_line(database, "chain_watcher", "deposit.changed.v1", "d2", _movement("0x22", 770))
    _print_line(
        database,
        "settler",
        "swap.changed.v1",
        SWAP_ID,
        {**mine, "sequence": 1, "status": "user_transfer_pending"},
    )
    _print_line(
        database, "settler", "swap.changed.v1", str(uuid4()), {**mine, "sequence_number": 78}
    )
    received = _transaction(None, to=DEPOSIT_ADDRESS)
    own = {"sequence": 1, "status": "completed", "method": "deposit_address"}
    _print_line(
        database, "settler", "swap.changed.v1", BY_ADDRESS, {**own, "transactions": [received]}
    )
    for network, address in ("one", DEPOSIT_ADDRESS), ("two", "0x" + "d2" * 20):
        assigned = {"network": network, "address": address}
        _print_line(database, "settler", "deposit-target.assigned.v1", network, assigned)
    rise = {**_movement(None, None), "to_address": DEPOSIT_ADDRESS}
    _print_line(database, "chain_watcher", "deposit.changed.v1", "d3", rise)
    return database


def run(database: Database, *arguments: str) -> Any:
    result = CliRunner().invoke(
        app, ["--auditor-url", database.url("auditor"), *arguments, "--json"]
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


class TestTrail:
    def test_lists_the_messages_of_one_swap(self, outboxes: Database) -> None:
        trail = run(outboxes, "trail", SWAP_ID)

        assert [(row["from"], row["topic"]) for row in trail] == [
            ("api", "swap.requests.v1"),
            ("chain_watcher", "deposit.changed.v1"),
            ("settler", "swap.changed.v1"),
        ]

    def test_lists_the_messages_about_its_deposit_address(self, outboxes: Database) -> None:
        trail = run(outboxes, "trail", BY_ADDRESS)

        assert [(row["from"], row["topic"]) for row in trail] == [
            ("settler", "swap.changed.v1"),
            ("settler", "deposit-target.assigned.v1"),
            ("chain_watcher", "deposit.changed.v1"),
        ]

    def test_fails_without_messages(self, outboxes: Database) -> None:
        with pytest.raises(RequestFailed, match="no messages about swap"):
            run(outboxes, "trail", str(uuid4()))


class TestInvariants:
    def test_name_each_query_and_its_rows(self, outboxes: Database, tmp_path: Path) -> None:
        queries = tmp_path / "queries.sql"
        queries.write_text(
            "-- what they are\n"
            "-- name: I-01 holds\nSELECT 1 AS row WHERE false;\n"
            "-- name: I-02 broken, 100 % of it\nSELECT 7 AS swap -- why\n;\n"
        )
        arguments = ["--auditor-url", outboxes.url("auditor"), "invariants"]

        result = CliRunner().invoke(app, [*arguments, "--queries", str(queries), "--json"])

        found = {"I-01 holds": [], "I-02 broken, 100 % of it": [{"swap": 7}]}
        assert json.loads(result.stdout) == found
        assert result.exit_code == 1

    def test_are_all_read(self) -> None:
        assert len(read_queries(QUERIES)) >= 30


class TestAuditor:
    def test_cannot_change_rows(self, outboxes: Database) -> None:
        url = outboxes.superuser_url  # the superuser too

        with open_auditor(url) as auditor, pytest.raises(RequestFailed, match="read-only"):
            auditor.rows("DELETE FROM settler.outbox")


def _print_line(
    database: Database, source: str, topic: str, key: str, body: Mapping[str, Any]
) -> None:
    url = database.url(source).replace("+psycopg", "")
    payload = json.dumps({"body": body}, separators=(",", ":")).encode()
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO outbox (message_id, topic, key, payload) "
            "VALUES (gen_random_uuid(), %s, %s, %s)",
            [topic, key.encode(), payload],
        )


def _movement(transaction_hash: str | None, sequence_number: int | None) -> dict[str, Any]:
    return {
        "state": "seen",
        "base_units": "5",
        "token": "0x0",
        "transaction_hash": transaction_hash,
        "sequence_number": sequence_number,
    }


def _transaction(transaction_hash: str | None, to: str | None = None) -> dict[str, Any]:
    return {
        "type": "input",
        "status": "completed",
        "transaction_hash": transaction_hash,
        "to_address": to,
    }
