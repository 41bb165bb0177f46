"""Swaps of networks and tokens that have left the catalogue, on a real Postgres."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from api_factories import (
    ALICE,
    AT,
    DOLLAR,
    a_body,
    a_catalogue_document,
    a_message,
    a_swap,
    an_input,
)
from api_harness import App, Harness, start

from swap_contracts.swaps import SwapChanged

pytestmark = pytest.mark.connected
SOURCE, DESTINATION = "ETHEREUM_DEVNET", "BASE_DEVNET"


def without(network: str, token: str | None = None) -> dict[str, Any]:
    document = a_catalogue_document()
    networks = document["networks"]
    left = next(one for one in networks if one["name"] == network)
    if token is None:
        networks.remove(left)
    else:
        left["tokens"] = [one for one in left["tokens"] if one["contract"] != token]
    return document


class Deployments:
    """The api before and after its catalogue was changed, on one database."""

    def __init__(self, before: Harness, database_url: str, redis_url: str, folder: Path) -> None:
        self.before = before
        self._urls, self._folder = (database_url, redis_url), folder
        self._after: Harness | None = None

    async def after(self, document: dict[str, Any]) -> Harness:
        path = self._folder / "changed.yaml"
        path.write_text(json.dumps(document))
        self._after = start(*self._urls, path)
        return self._after

    async def stop(self) -> None:
        if self._after is not None:
            await self._after.stop()


@pytest.fixture
async def deployments(
    api: Harness, database_url: str, redis_url: str, tmp_path: Path
) -> AsyncIterator[Deployments]:
    deployments = Deployments(api, database_url, redis_url, tmp_path)
    yield deployments
    await deployments.stop()


async def a_created_swap(api: Harness, app: App, **more: Any) -> SwapChanged:
    created = (await api.create(app, a_body(**more))).json()["data"]["swap"]
    return a_swap(
        app_id=app.id,
        swap_id=created["id"],
        sequence_number=created["metadata"]["sequence_number"],
    )


def completed(swap: SwapChanged) -> SwapChanged:
    paid = an_input(
        type="output", asset=DOLLAR, base_units="2996000000", transaction_hash="0x" + "cd" * 32
    )
    news = {"status": "completed", "sequence": 9, "closed_at": AT}
    return swap.model_copy(update={**news, "transactions": (an_input(), paid)})


@pytest.mark.parametrize(
    ("network", "token"),
    [(DESTINATION, DOLLAR.token), (DESTINATION, None), (SOURCE, None)],
    ids=["the token", "the destination", "the source"],
)
async def test_a_swap_is_stored_and_shown_as_completed(
    deployments: Deployments, network: str, token: str | None
) -> None:
    app = await deployments.before.an_app()
    swap = await a_created_swap(deployments.before, app)
    api = await deployments.after(without(network, token))

    await api.parts.swaps.store_swaps([a_message(completed(swap))])

    shown = (await api.get(app, f"/swaps/{swap.swap_id}")).json()["data"]
    listed = (await api.get(app, "/swaps")).json()["data"]
    assert shown["swap"]["status"] == "completed"
    assert [one["amount"] for one in shown["swap"]["transactions"]] == [1.0, 2996.0]
    assert shown["swap"]["destination_token"]["contract"] == DOLLAR.token
    assert [one["swap"]["id"] for one in listed] == [str(swap.swap_id)]


async def test_a_swap_keeps_its_deposit_address(deployments: Deployments) -> None:
    app = await deployments.before.an_app()
    by_address = {"use_depository": False, "use_deposit_address": True, "refund_address": ALICE}
    swap = await a_created_swap(deployments.before, app, **by_address)
    [address] = await deployments.before.rows("SELECT deposit_address FROM swap")
    api = await deployments.after(without(SOURCE))

    done = completed(swap).model_copy(update={"method": "deposit_address"})
    await api.parts.swaps.store_swaps([a_message(done)])

    assert address.deposit_address is not None
    assert await api.rows("SELECT deposit_address FROM swap") == [address]


async def test_deposit_actions_of_absent_assets_are_not_offered(deployments: Deployments) -> None:
    app = await deployments.before.an_app()
    swap = await a_created_swap(deployments.before, app)
    api = await deployments.after(without(SOURCE))

    waiting = swap.model_copy(update={"sequence": 9})
    await api.parts.swaps.store_swaps([a_message(waiting)])

    inline = (await api.get(app, f"/swaps/{swap.swap_id}")).json()["data"]
    [step] = (await api.get(app, f"/swaps/{swap.swap_id}/deposit_actions")).json()["data"]
    assert inline["deposit_actions"] == []
    assert (step["status"], step["to_address"]) == ("pending", None)


async def test_a_refund_address_waits_for_the_network(deployments: Deployments) -> None:
    app = await deployments.before.an_app()
    swap = await a_created_swap(deployments.before, app)
    api = await deployments.after(without(SOURCE))

    answer = await api.post(app, f"/swaps/{swap.swap_id}/refund_address", {"refund_address": ALICE})

    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert "is not served now" in answer.json()["error"]["message"]
