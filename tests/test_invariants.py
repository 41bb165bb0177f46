"""The invariants match the real tables, and their table of status edges is the domain's."""

from __future__ import annotations

import psycopg
import pytest

from swap_domain.lifecycle import TRANSITIONS, Status
from tests.plugins.invariants import QUERIES, make_views, violations
from tests.plugins.postgres import Database

WHAT_I_25_READS = (
    "swap (id int, app_id int)",
    "swap_transition (swap_id int, seq int, from_status text, to_status text, at timestamptz)",
    "endpoint (id int, app_id int, enabled_from timestamptz, disabled_at timestamptz,"
    " wants_updates boolean)",
    "webhook_message (endpoint_id int, swap_id int, seq int)",
)

# Receipts in a deleted block, in one that a reorg removed, and in one that is not followed yet.
PRUNED_CHAIN = (
    "SET session_replication_role = replica",
    "INSERT INTO chain_watcher.watch_cursor (network, number, hash, parent_hash, time,"
    " finalized_number, start_number, checked_number)"
    " VALUES ('ETHEREUM_DEVNET', 100, '0xc', '0xd', now(), 90, 50, 90)",
    "INSERT INTO chain_watcher.chain_block (network, hash, number, parent_hash, time, state)"
    " VALUES ('ETHEREUM_DEVNET', '0xb2', 20, '0xe', now(), 'orphan')",
    "INSERT INTO settler.receipt (network, transaction_hash, block_hash, block_number, status,"
    " fee_base_units) SELECT 'ETHEREUM_DEVNET', '0x' || lpad(to_hex(n), 64, '0'), '0xb' || n,"
    " block, 1, 1 FROM (VALUES (1, 20), (2, 20), (3, 101)) AS mined(n, block)",
)


@pytest.fixture(scope="module")
def views(database: Database) -> None:
    make_views(database.superuser_url, {"ETHEREUM_DEVNET": 1})


@pytest.mark.connected
@pytest.mark.usefixtures("views")
class TestInvariants:
    def test_run_over_the_real_tables_and_find_no_violation_in_empty_ones(
        self, database: Database
    ) -> None:
        auditor = database.url("auditor").replace("+psycopg", "")
        assert violations(auditor) == {}

    def test_miss_no_webhook_message_that_was_deleted_after_its_time(
        self, database: Database
    ) -> None:
        with psycopg.connect(database.superuser_url) as connection:
            for table in WHAT_I_25_READS:
                connection.execute(f"CREATE TEMPORARY TABLE {table}".encode())
            connection.execute("INSERT INTO swap VALUES (1, 7)")
            connection.execute("INSERT INTO endpoint VALUES (3, 7, '2020-01-01', NULL, false)")
            connection.execute(
                "INSERT INTO swap_transition SELECT 1, days, NULL, 'expired', now() - days * "
                "interval '1 day' FROM unnest(ARRAY[1, 28, 30, 400]) AS days"
            )
            connection.execute("INSERT INTO webhook_message VALUES (3, 1, 1)")

            missed = connection.execute(QUERIES["I-25"][1].encode()).fetchall()

        assert missed == [(1, 28, 3)]

    def test_take_a_receipt_below_the_stored_blocks_as_final(self, database: Database) -> None:
        """Blocks without movements are deleted; one that a reorg removed stays and disproves."""
        with psycopg.connect(database.superuser_url) as connection:
            for statement in PRUNED_CHAIN:
                connection.execute(statement)
            final = connection.execute(
                "SELECT hash FROM invariant.policy_final WHERE hash LIKE '0xb%' ORDER BY hash"
            ).fetchall()
            connection.rollback()

        assert final == [("0xb1",)]

    def test_allow_exactly_the_edges_of_the_status_table(self, database: Database) -> None:
        with psycopg.connect(database.superuser_url) as connection:
            rows = connection.execute("SELECT * FROM invariant.allowed_edge").fetchall()

        edges = {(status.value, after.value) for (status, _), after in TRANSITIONS.items()}
        assert set(rows) == edges | {(None, Status.DEPOSIT_PENDING.value)}
