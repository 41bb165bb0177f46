"""The invariants fit the real tables, and their table of status edges is the domain's."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from swap_domain.lifecycle import TRANSITIONS, Status
from tests.plugins.invariants import make_views, violations
from tests.plugins.postgres import SERVICES, Database


@pytest.mark.connected
class TestInvariants:
    def test_run_over_the_real_tables_and_find_nothing_in_empty_ones(
        self, database: Database, migrated: Callable[[str], str]
    ) -> None:
        for service in SERVICES:
            migrated(service)

        make_views(database.superuser_url, {"ETHEREUM_DEVNET": 1})

        auditor = database.url("auditor").replace("+psycopg", "")
        assert violations(auditor) == {}

    def test_allow_exactly_the_edges_of_the_status_table(self, database: Database) -> None:
        with psycopg.connect(database.superuser_url) as connection:
            rows = connection.execute("SELECT * FROM invariant.allowed_edge").fetchall()

        edges = {(status.value, after.value) for (status, _), after in TRANSITIONS.items()}
        assert set(rows) == edges | {(None, Status.DEPOSIT_PENDING.value)}
