"""Nothing is offered to an address that must not be paid."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from api_factories import ALICE, BOB, a_body
from api_harness import Harness

from swap_api.model.refusals import ApiRefusal
from swap_api.swaps.build import Guards
from swap_contracts.public.errors import ErrorCode
from swap_runtime.catalogue import load_catalogue
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
BLOCK = """
INSERT INTO settler.blocked_address (address, network, blocked_by, blocked_because)
VALUES (lower(%s), %s, 'a', 'b')
"""


@pytest.fixture
def settler_connection(database_url: str, database: Database) -> psycopg.Connection:
    connection = psycopg.connect(database.superuser_url, autocommit=True)
    connection.execute("TRUNCATE settler.blocked_address")
    return connection


async def blocked(
    api: Harness, settler_connection: psycopg.Connection, address: str, network: str | None = None
) -> None:
    settler_connection.execute(BLOCK, (address, network))
    settler_connection.execute("UPDATE settler.blocked_list SET version = version + 1")
    await api.parts.guards.blocked.refresh()


async def test_no_request_is_served_before_the_list_was_read(
    api: Harness, settler_connection: psycopg.Connection
) -> None:
    catalogue = load_catalogue(api.service.settings.catalogue, str)
    guards = Guards.of(api.service.engine, catalogue)
    party = {"address": ("ETHEREUM_DEVNET", BOB)}

    with pytest.raises(ApiRefusal) as refused:
        await guards.screen_parties(party)
    assert refused.value.code is ErrorCode.SERVICE_UNAVAILABLE

    await guards.look()
    await guards.screen_parties(party)


class TestABlockedAddress:
    @pytest.mark.parametrize("field", ["destination_address", "source_address", "refund_address"])
    @pytest.mark.fault("A10")
    async def test_a10_is_refused_at_creation(
        self, api: Harness, settler_connection: psycopg.Connection, field: str
    ) -> None:
        app = await api.an_app()
        await blocked(api, settler_connection, BOB)

        answer = await api.create(app, a_body(**{field: BOB}))

        assert answer.status_code == 400, answer.text
        error = answer.json()["error"]
        assert error["code"] == "BLACKLISTED_ADDRESS"
        assert list(error["metadata"]["field_errors"]) == [field]
        assert await api.rows("SELECT 1 FROM swap") == []
        settler_connection.execute("TRUNCATE settler.blocked_address")
        await blocked(api, settler_connection, "0x00000000000000000000000000000000000a11ce")
        assert (await api.create(app, a_body(**{field: BOB}))).status_code == 200

    @pytest.mark.parametrize("spelled", [str, str.lower])
    async def test_is_refused_at_the_quote(
        self, api: Harness, settler_connection: psycopg.Connection, spelled: Callable[[str], str]
    ) -> None:
        app, body = await api.an_app(), a_body()
        query = {k: v for k, v in body.items() if k.startswith(("source", "destination", "amount"))}
        await blocked(api, settler_connection, ALICE)

        answer = await api.get(
            app, "/quote", params={**query, "destination_address": spelled(ALICE)}
        )
        del query["destination_address"]

        assert answer.json()["error"]["code"] == "BLACKLISTED_ADDRESS"
        assert (await api.get(app, "/quote", params=query)).status_code == 200

    async def test_is_no_refund_address_later(
        self, api: Harness, settler_connection: psycopg.Connection
    ) -> None:
        app = await api.an_app()
        swap_id = (await api.create(app, a_body())).json()["data"]["swap"]["id"]
        await blocked(api, settler_connection, BOB)

        answer = await api.post(app, f"/swaps/{swap_id}/refund_address", {"refund_address": BOB})

        assert answer.json()["error"]["code"] == "BLACKLISTED_ADDRESS"

    async def test_of_one_network_may_be_paid_on_another(
        self, api: Harness, settler_connection: psycopg.Connection
    ) -> None:
        app = await api.an_app()
        await blocked(api, settler_connection, ALICE, "ETHEREUM_DEVNET")

        assert (await api.create(app, a_body(refund_address=BOB))).status_code == 200
        assert (await api.create(app, a_body(refund_address=ALICE))).status_code == 400
