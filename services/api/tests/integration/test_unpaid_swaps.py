"""The limit of swaps that wait for a deposit."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from api_factories import a_body
from api_harness import Harness

from swap_api.model.keys import KeyKind
from swap_api.read_model.store import swaps
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_runtime.postgres.sql import Statement, sql

pytestmark = pytest.mark.connected


class TestPendingSwaps:
    @pytest.mark.fault("A11")
    async def test_a11_are_capped_per_app(self, api: Harness) -> None:
        app = await api.an_app(is_lifted=False, pending_swaps=3)

        answers = [await api.create(app, a_body()) for _ in range(4)]

        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert answers[-1].json()["error"]["code"] == "TOO_MANY_PENDING_SWAPS"
        assert "retry-after" in answers[-1].headers

    @pytest.mark.fault("A11")
    async def test_a11_concurrent_creations_are_capped(self, api: Harness) -> None:
        app = await api.an_app(is_lifted=False, pending_swaps=3)

        answers = await asyncio.gather(*(api.create(app, a_body()) for _ in range(12)))

        assert Counter(answer.status_code for answer in answers) == {200: 3, 429: 9}

    async def test_do_not_hold_another_app_back(self, api: Harness) -> None:
        full = await api.an_app(is_lifted=False, pending_swaps=1)
        free = await api.an_app(is_lifted=False, pending_swaps=1)
        await api.create(full, a_body())

        assert (await api.create(free, a_body())).status_code == 200

    @pytest.mark.fault("A11")
    async def test_a11_are_counted_apart_for_each_client_of_a_publishable_key(
        self, api: Harness
    ) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE)
        secret = await api.another_key(app, KeyKind.SECRET)
        for key in (app, app, secret):
            await api.create(key, a_body())

        swaps = PostgresSwaps(api.service.engine)
        counts = [
            await swaps.count(app.id, client, up_to=10)
            for client in ("203.0.113.7", None, "203.0.113.8")
        ]

        assert counts == [2, 1, 0]
        assert await swaps.count(app.id, "203.0.113.7", up_to=1) == 1

    @pytest.mark.parametrize("statement", [swaps.COUNT_UNPAID_OF_CLIENT, swaps.COUNT_UNPAID_OF_APP])
    async def test_of_other_clients_are_not_looked_at(
        self, api: Harness, statement: Statement
    ) -> None:
        app = await api.an_app()
        async with api.service.engine.begin() as connection:
            await connection.execute(sql(MANY_CLIENTS), {"app_id": app.id})
            await connection.execute("ANALYZE swap")

        plan = [line.strip() for line in await api.plan(statement.text)]

        (condition,) = [line for line in plan if line.startswith("Index Cond")]
        assert any("swap_unpaid" in line for line in plan)
        assert "client" in condition
        assert not any(line.startswith("Filter") for line in plan)


MANY_CLIENTS = """
INSERT INTO swap (id, app_id, sequence_number, sequence, status, client, is_unpaid, source_network,
  destination_network, destination_address, created_at, expires_at, document, step_status)
SELECT uuidv7(), :app_id, n, 1, 'user_transfer_pending', 'client ' || n, true, 'A', 'B', 'address',
  now(), now(), 'x', 'action_required'
FROM generate_series(1, 5000) AS n
"""
