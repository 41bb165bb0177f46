"""A refund address is set once, by the swap's owner, and sent to the settler."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest
from api_factories import BOB, TREASURY, a_body
from api_harness import App, Harness

from swap_api.model.keys import KeyKind
from swap_contracts.envelope import Envelope
from swap_contracts.swaps import RefundAddressSet

pytestmark = pytest.mark.connected

ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


async def a_swap(api: Harness, app: App, **more: Any) -> str:
    answer = await api.create(app, a_body(**more))
    return str(answer.json()["data"]["swap"]["id"])


async def set_refund_address(api: Harness, app: App, swap_id: str, address: str) -> httpx.Response:
    return await api.client.post(
        f"/api/v2/swaps/{swap_id}/refund_address",
        json={"refund_address": address},
        headers=app.headers,
    )


async def messages(api: Harness) -> list[Envelope[RefundAddressSet]]:
    rows = await api.rows("SELECT payload FROM outbox ORDER BY id")
    sent = [row.payload for row in rows if b'"RefundAddressSet"' in row.payload]
    return [Envelope[RefundAddressSet].model_validate_json(payload) for payload in sent]


async def test_refund_address_is_sent_to_the_settler_in_one_commit(api: Harness) -> None:
    app = await api.an_app()
    swap_id = await a_swap(api, app)

    with api.statements() as seen:
        answer = await set_refund_address(api, app, swap_id, ALICE.lower())

    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["swap"]["id"] == swap_id
    assert seen.commits == 1
    [message] = await messages(api)
    assert (str(message.body.swap_id), message.body.refund_address) == (swap_id, ALICE)
    listed = await api.get(app, "/swaps", params={"address": ALICE})
    assert [one["swap"]["id"] for one in listed.json()["data"]] == [swap_id]


async def test_refund_address_cannot_be_replaced(api: Harness) -> None:
    app = await api.an_app()
    swap_id = await a_swap(api, app)
    await set_refund_address(api, app, swap_id, ALICE)

    again, other = (
        await set_refund_address(api, app, swap_id, ALICE),
        await set_refund_address(api, app, swap_id, BOB),
    )

    assert again.status_code == 200
    assert other.status_code == 400
    assert other.json()["error"]["code"] == "VALIDATION_ERROR"
    assert len(await messages(api)) == 1


async def test_refund_address_of_the_creation_cannot_be_replaced(api: Harness) -> None:
    app = await api.an_app()
    swap_id = await a_swap(api, app, refund_address=ALICE)

    answer = await set_refund_address(api, app, swap_id, BOB)

    assert answer.status_code == 400
    assert await messages(api) == []


@pytest.mark.parametrize("address", ["0x12", "0x" + "0" * 40, TREASURY])
@pytest.mark.fault("M6")
async def test_must_be_a_users_address_on_the_source_network(api: Harness, address: str) -> None:
    app = await api.an_app()
    swap_id = await a_swap(api, app)

    answer = await set_refund_address(api, app, swap_id, address)

    assert answer.json()["error"]["code"] == "INVALID_ADDRESS_ERROR"
    assert await messages(api) == []


async def test_refund_address_needs_a_secret_key_of_the_swaps_app(api: Harness) -> None:
    app, other = await api.an_app(), await api.an_app()
    swap_id = await a_swap(api, app)
    publishable = await api.another_key(app, KeyKind.PUBLISHABLE)

    in_a_browser = await set_refund_address(api, publishable, swap_id, ALICE)
    of_other_app = await set_refund_address(api, other, swap_id, ALICE)
    unknown = await set_refund_address(api, app, str(uuid4()), ALICE)

    assert in_a_browser.status_code == 403
    assert (of_other_app.status_code, unknown.status_code) == (404, 404)
    assert of_other_app.json()["error"]["code"] == unknown.json()["error"]["code"]
    assert await messages(api) == []
