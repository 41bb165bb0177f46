"""A swap's history: its events and bookings, visible only to its own partner."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from api_factories import HASH, a_body
from api_harness import App, Harness
from api_settler_swaps import INSERT_SWAPS, OTHER_COLUMNS
from psycopg.rows import namedtuple_row

from swap_api.model.keys import KeyKind
from swap_api.swaps.store.history import EVENTS
from swap_contracts.public.lookups import (
    StatusModel,
    SwapEventModel,
)
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

PATHS = ("events", "ledger")
STATES = """
INSERT INTO chain_watcher.watch_cursor
  (network, hash, parent_hash, number, time, finalized_number, start_number, checked_number)
VALUES ('ETHEREUM_DEVNET', '0x07', '0x06', 7, now() - interval '1 minute', 5, 0, 5);
INSERT INTO settler.inventory (network, token, held_base_units, owed_base_units) VALUES
  ('ETHEREUM_DEVNET', '0x00', 5, 4), ('ETHEREUM_DEVNET', '0x01', 5, 5),
  ('BASE_DEVNET', '0x00', 1, 0);
INSERT INTO settler.stuck_report VALUES ('ETHEREUM_DEVNET', 2, now());
"""
SWAP = f"{INSERT_SWAPS} VALUES (%(id)s, %(id)s, %(n)s, %(n)s, 3, 'completed', {OTHER_COLUMNS})"
TRANSITIONS = """
INSERT INTO settler.swap_transition (swap_id, sequence, from_status, to_status, at, cause) VALUES
  (%(id)s, 1, NULL, 'user_transfer_pending', now(), NULL),
  (%(id)s, 2, 'user_transfer_pending', 'user_transfer_pending', now(), 'deposit_seen'),
  (%(id)s, 3, 'user_transfer_pending', 'ls_transfer_pending', now(), 'deposit_confirmed')
"""
VIEW_BEFORE_CAUSES = """
DROP VIEW settler.swap_event;
CREATE VIEW settler.swap_event AS
SELECT swap_id, sequence, from_status, to_status, at FROM settler.swap_transition
"""
# A deposit that one provider's report confirmed, and one above its cap.
TRUST = """
INSERT INTO chain_watcher.chain_block (network, hash, number, parent_hash, time, state)
VALUES ('ETHEREUM_DEVNET', '0x07', 7, '0x06', now(), 'canonical');
INSERT INTO chain_watcher.movement (network, block_hash, id, block_number, kind, transaction_hash,
  token, to_address, base_units, version, state, confirmations_required, waits_for_finality,
  providers_required, withheld_at, trusted_at)
SELECT 'ETHEREUM_DEVNET', '0x07', gen_random_uuid(), 7, 'native_received', '0x01',
  '0x0000000000000000000000000000000000000000', '0x02', 5, 1, state, 1, false, 1,
  CASE WHEN state = 'seen' THEN now() END, CASE WHEN state = 'confirmed' THEN now() END
FROM unnest(ARRAY['seen', 'confirmed']) AS of(state);
INSERT INTO chain_watcher.one_provider_cap VALUES
  ('ETHEREUM_DEVNET', '0x0000000000000000000000000000000000000000', 9, interval '1 day');
"""


async def a_swap(api: Harness, app: App) -> str:
    answer = await api.create(app, a_body())
    return str(answer.json()["data"]["swap"]["id"])


class TestHistory:
    @pytest.mark.parametrize("path", PATHS)
    async def test_of_a_swap_that_the_settler_has_not_read_is_empty(
        self, api: Harness, path: str
    ) -> None:
        app = await api.an_app()
        swap_id = await a_swap(api, app)

        answer = await api.get(app, f"/swaps/{swap_id}/{path}")

        assert answer.json() == {"data": [], "error": None}

    async def test_says_what_caused_each_event_that_has_a_cause(
        self, api: Harness, database: Database
    ) -> None:
        app = await api.an_app()
        swap_id = await a_swap(api, app)
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(SWAP, {"id": swap_id, "n": 1})
            connection.execute(TRANSITIONS, {"id": swap_id})

        answer = await api.get(app, f"/swaps/{swap_id}/events")

        events = [SwapEventModel.model_validate(one) for one in answer.json()["data"]]
        assert [(one.sequence, one.cause) for one in events] == [
            (1, None),
            (2, "deposit_seen"),
            (3, "deposit_confirmed"),
        ]

    async def test_has_no_causes_before_the_settler_has_migrated(self, database: Database) -> None:
        swap_id = uuid4()
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(SWAP, {"id": swap_id, "n": 2})
            connection.execute(TRANSITIONS, {"id": swap_id})
            connection.execute(VIEW_BEFORE_CAUSES)
            cursor = psycopg.RawCursor(connection, row_factory=namedtuple_row)
            rows = cursor.execute(EVENTS.text.encode(), [[swap_id]]).fetchall()
            connection.rollback()

        assert [(row.sequence, row.cause) for row in rows] == [(1, None), (2, None), (3, None)]

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
    async def test_of_another_partner_s_swap_is_not_there(
        self, api: Harness, path: str, accept: str
    ) -> None:
        theirs, app = await api.an_app(), await api.an_app()
        swap_id = await a_swap(api, theirs)

        answer = await api.client.get(
            f"/api/v2/swaps/{swap_id}/{path}", headers={**app.headers, "accept": accept}
        )

        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "NOT_FOUND"

    async def test_of_the_books_is_not_for_keys_that_stand_in_browsers(self, api: Harness) -> None:
        app = await api.an_app()
        swap_id = await a_swap(api, app)
        browser = await api.another_key(app, KeyKind.PUBLISHABLE)

        assert (await api.get(browser, f"/swaps/{swap_id}/events")).status_code == 200
        assert (await api.get(browser, f"/swaps/{swap_id}/ledger")).status_code == 403

    async def test_is_found_by_index(self, api: Harness) -> None:
        for view in ("swap_event", "swap_posting", "swap_quote"):
            plan = await api.plan(f"SELECT * FROM settler.{view} WHERE swap_id = $1")
            assert not [line for line in plan if "Seq Scan" in line]


class TestStatus:
    async def test_shows_every_network_also_without_data(self, api: Harness) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/status")

        answer_status = StatusModel.model_validate(answer.json()["data"])
        assert [one.name for one in answer_status.networks] == [
            "ETHEREUM_DEVNET", "BASE_DEVNET", "BARE_DEVNET",
        ]  # fmt: skip
        assert answer_status.networks[0].display_name == "Ethereum Devnet"
        assert {
            (n.head, n.lag_seconds, n.liquidity, n.stuck_swaps) for n in answer_status.networks
        } == {(None, None, "none", None)}
        assert {network.node_providers for network in answer_status.networks} == {1}
        assert {network.deposits_withheld for network in answer_status.networks} == {0}
        assert [network.one_provider_caps for network in answer_status.networks] == [[], [], []]

    async def test_shows_the_reports_of_the_watcher_and_the_settler(
        self, api: Harness, database: Database
    ) -> None:
        app = await api.an_app()
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(STATES)
        try:
            answer = await api.get(app, "/status")
        finally:
            with psycopg.connect(database.superuser_url) as connection:
                connection.execute("TRUNCATE settler.inventory, settler.stuck_report")

        [ethereum, base, _] = StatusModel.model_validate(answer.json()["data"]).networks
        assert (ethereum.head, ethereum.liquidity, ethereum.stuck_swaps) == (7, "partial", 2)
        assert ethereum.lag_seconds is not None
        assert ethereum.lag_seconds >= 60
        assert (base.head, base.liquidity, base.payouts) == (None, "available", "running")

    async def test_shows_what_waits_for_a_second_provider_and_how_full_the_caps_are(
        self, api: Harness, database: Database
    ) -> None:
        app = await api.an_app()
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(STATES + TRUST)
        try:
            answer = await api.get(app, "/status")
        finally:
            with psycopg.connect(database.superuser_url) as connection:
                connection.execute(
                    "TRUNCATE settler.inventory, settler.stuck_report, chain_watcher.movement,"
                    " chain_watcher.chain_block, chain_watcher.one_provider_cap"
                )

        [ethereum, base, _] = StatusModel.model_validate(answer.json()["data"]).networks
        assert ethereum.deposits_withheld == 1
        assert [cap.model_dump() for cap in ethereum.one_provider_caps] == [
            {"token": "ETH", "cap_base_units": "9", "used_base_units": "5"}
        ]
        assert (base.deposits_withheld, base.one_provider_caps) == (0, [])


class TestTransactionStatus:
    @pytest.mark.parametrize(
        ("params", "status", "code"),
        [
            ({"network": "BASE_DEVNET", "transaction_id": HASH}, 404, "NOT_FOUND"),
            ({"network": "NOWHERE", "transaction_id": HASH}, 404, "NOT_FOUND"),
            ({"transaction_id": HASH}, 400, "VALIDATION_ERROR"),
            ({"network": "BASE_DEVNET"}, 400, "VALIDATION_ERROR"),
        ],
    )
    async def test_refuses(
        self, api: Harness, params: dict[str, str], status: int, code: str
    ) -> None:
        app = await api.an_app()

        answer = await api.get(app, "/transaction_status", params=params)

        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
