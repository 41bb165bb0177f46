"""While payouts are stopped, swaps that would wait for one are refused."""

from __future__ import annotations

import psycopg
import pytest
from api_factories import a_body
from api_harness import Harness

from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
STOP = (
    "INSERT INTO settler.payout_stop (network, stopped_by, stopped_because) VALUES (%s, 'a', 'b')"
)
HALT = """
INSERT INTO chain_watcher.watch_cursor (network, number, hash, parent_hash, time, finalized_number,
    start_number, checked_number, halted_at, halt_reason)
VALUES (%s, 9, '0x1', '0x2', now(), 9, 0, 0, now(), 'changed at or below block 9')
"""
RESUME = "UPDATE chain_watcher.watch_cursor SET halted_at = NULL, halt_reason = NULL"
QUOTE = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "ETH",
    "amount": "1",
}


@pytest.fixture
def settler_connection(database_url: str, database: Database) -> psycopg.Connection:
    connection = psycopg.connect(database.superuser_url, autocommit=True)
    connection.execute("TRUNCATE settler.payout_stop, settler.source_stop, settler.network_closure")
    connection.execute("TRUNCATE chain_watcher.watch_cursor")
    return connection


class TestAStop:
    @pytest.mark.parametrize("where", ["destination", "*"])
    async def test_refuses_new_swaps_to_there_until_it_is_lifted(
        self, api: Harness, settler_connection: psycopg.Connection, where: str
    ) -> None:
        app, body = await api.an_app(), a_body()
        network = body["destination_network"] if where == "destination" else where
        settler_connection.execute(STOP, (network,))
        await api.parts.guards.refuse_stopped_routes.refresh()

        refused = await api.create(app, body, key="one")
        quoted = await api.get(app, "/quote", params={k: body[k] for k in QUOTE if k in body})

        assert refused.status_code == 503, refused.text
        assert refused.json()["error"]["code"] == "PAYOUTS_PAUSED"
        assert refused.headers["retry-after"] == "60"
        assert quoted.status_code == 200, quoted.text
        settler_connection.execute(
            "UPDATE settler.payout_stop SET lifted_at = now(), lifted_by = 'a',"
            " lifted_because = 'b'"
        )
        await api.parts.guards.refuse_stopped_routes.refresh()
        assert (await api.create(app, body, key="one")).status_code == 200

    async def test_of_another_network_refuses_no_swap(
        self, api: Harness, settler_connection: psycopg.Connection
    ) -> None:
        app, body = await api.an_app(), a_body()
        settler_connection.execute(STOP, (body["source_network"],))
        await api.parts.guards.refuse_stopped_routes.refresh()

        assert (await api.create(app, body)).status_code == 200

    async def test_answers_again_what_was_created_before_it(
        self, api: Harness, settler_connection: psycopg.Connection
    ) -> None:
        app, body = await api.an_app(), a_body()
        first = await api.create(app, body, key="two")
        settler_connection.execute(STOP, ("*",))
        await api.parts.guards.refuse_stopped_routes.refresh()

        again = await api.create(app, body, key="two")

        assert again.status_code == 200
        assert again.content == first.content


async def test_a_network_over_its_loss_budget_brings_no_new_swaps(
    api: Harness, settler_connection: psycopg.Connection
) -> None:
    app, body = await api.an_app(), a_body()
    add = "INSERT INTO settler.source_stop (network, stopped_because) VALUES (%s, 'reorgs')"
    settler_connection.execute(add, (body["destination_network"],))
    await api.parts.guards.refuse_stopped_routes.refresh()
    assert (await api.create(app, body, key="there")).status_code == 200

    settler_connection.execute(add, (body["source_network"],))
    await api.parts.guards.refuse_stopped_routes.refresh()
    refused = await api.create(app, body, key="here")

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "PAYOUTS_PAUSED")


@pytest.mark.parametrize("end", ["source_network", "destination_network"])
@pytest.mark.fault("R6")
async def test_r6_swaps_of_a_halted_network_are_refused_until_it_is_resumed(
    api: Harness, settler_connection: psycopg.Connection, end: str
) -> None:
    app, body = await api.an_app(), a_body()
    settler_connection.execute(HALT, (body[end],))
    await api.parts.guards.refuse_stopped_routes.refresh()

    refused = await api.create(app, body, key="one")

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "PAYOUTS_PAUSED")
    assert refused.headers["retry-after"] == "60"
    settler_connection.execute(RESUME)
    await api.parts.guards.refuse_stopped_routes.refresh()
    assert (await api.create(app, body, key="one")).status_code == 200


@pytest.mark.fault("R6")
async def test_r6_halt_of_another_network_refuses_no_swap(
    api: Harness, settler_connection: psycopg.Connection
) -> None:
    app, body = await api.an_app(), a_body()
    settler_connection.execute(HALT, ("ANOTHER_DEVNET",))
    await api.parts.guards.refuse_stopped_routes.refresh()

    assert (await api.create(app, body)).status_code == 200


@pytest.mark.fault("R6")
async def test_r6_halted_network_is_shown_with_stopped_payouts(
    api: Harness, settler_connection: psycopg.Connection
) -> None:
    app, halted = await api.an_app(), a_body()["source_network"]
    settler_connection.execute(HALT, (halted,))

    networks = (await api.get(app, "/status")).json()["data"]["networks"]

    stopped = {network["name"] for network in networks if network["payouts"] == "stopped"}
    assert stopped == {halted}


CLOSE = """
INSERT INTO settler.network_closure (network, closed_by, closed_because)
VALUES (%s, 'ana', 'moving')
"""


@pytest.mark.parametrize("end", ["source_network", "destination_network"])
async def test_a_closed_network_accepts_no_new_swaps_and_gives_the_reason(
    api: Harness, settler_connection: psycopg.Connection, end: str
) -> None:
    app, body = await api.an_app(), a_body()
    settler_connection.execute(CLOSE, (body[end],))
    await api.parts.guards.refuse_stopped_routes.refresh()

    refused = await api.create(app, body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "PAYOUTS_PAUSED")
    assert "takes no new swaps for the moment" in refused.json()["error"]["message"]
    networks = (await api.get(app, "/status")).json()["data"]["networks"]
    assert {n["name"] for n in networks if n["new_swaps"] == "closed"} == {body[end]}
    assert {n["payouts"] for n in networks} == {"running"}
