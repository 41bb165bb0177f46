"""Every answer has exactly the members of the specification, none missing and none added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from swap_contracts.public.models import (
    DepositActionItemModel,
    HealthModel,
    LimitsModel,
    NetworkWithTokensModel,
    PreparedSwapModel,
    QuotedModel,
)
from tests.e2e.journey import run_journey
from tests.e2e.outside import FinishedSwap, Outside, Partner, Route, new_address
from tests.plugins.stack import Stack

ROUTE = Route("BASE_DEVNET", "ETH", "POLYGON_DEVNET", "USDC", "0.02")
PARAMETERS = {
    "source_network": "BASE_DEVNET",
    "source_token": "ETH",
    "destination_network": "POLYGON_DEVNET",
    "destination_token": "USDC",
    "amount": "0.02",
}


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, ROUTE)


async def checked_answer(
    partner: Partner, model: Any, method: str, path: str, **options: Any
) -> Any:
    """Return the data of an answer, which must match the closed model."""
    answer = await partner.ask(method, path, **options)
    assert answer.status_code == 200, answer.text
    body: Mapping[str, Any] = answer.json()
    assert set(body) == {"error", "data"}
    assert body["error"] is None
    # Strict: a number in quotes is refused. Unknown members are refused; all others are required.
    TypeAdapter(model).validate_json(json.dumps(body["data"]), strict=True)
    return body["data"]


class TestClosedModels:
    async def test_of_a_created_swap(self, outside: Outside) -> None:
        body = {**PARAMETERS, "destination_address": new_address(), "use_depository": True}
        prepared = await checked_answer(
            outside.partner(), PreparedSwapModel, "POST", "/swaps", json=body
        )

        assert prepared["swap"]["status"] == "user_transfer_pending"
        [action] = prepared["deposit_actions"]
        assert action["type"] == "transfer"
        depository = outside.networks["BASE_DEVNET"]["contracts"]["depository"]
        assert action["to_address"] == depository
        assert action["amount"] == 0.02
        assert action["amount_in_base_units"] == str(2 * 10**16)

    async def test_of_a_swap_that_is_read(self, done: FinishedSwap, outside: Outside) -> None:
        partner = outside.partner()
        await checked_answer(partner, PreparedSwapModel, "GET", f"/swaps/{done.id}")
        for transaction_hash in (t["transaction_hash"] for t in done.last["swap"]["transactions"]):
            path = f"/swaps/by_transaction_hash/{transaction_hash}"
            await checked_answer(partner, PreparedSwapModel, "GET", path)

    async def test_of_a_swap_without_its_actions(self, outside: Outside) -> None:
        prepared = await outside.partner().create(ROUTE, new_address())

        path = f"/swaps/{prepared['swap']['id']}"
        answer = await checked_answer(
            *(outside.partner(), PreparedSwapModel, "GET", path),
            params={"exclude_deposit_actions": "true"},
        )

        assert answer["deposit_actions"] == []

    async def test_of_a_list(self, done: FinishedSwap, outside: Outside) -> None:
        query = {"address": done.recipient}
        [listed] = await checked_answer(
            outside.partner(), list[PreparedSwapModel], "GET", "/swaps", params=query
        )

        assert listed["swap"]["id"] == done.id

    async def test_of_what_is_to_be_done(self, outside: Outside) -> None:
        prepared = await outside.partner().create(ROUTE, new_address())

        path = f"/swaps/{prepared['swap']['id']}/deposit_actions"
        steps = await checked_answer(outside.partner(), list[DepositActionItemModel], "GET", path)

        [step] = [one for one in steps if one["status"] == "action_required"]
        [action] = prepared["deposit_actions"]
        assert (step["step"], step["type"]) == ("deposit", "transfer")
        assert {name: step[name] for name in action} == action

    async def test_of_networks(self, outside: Outside) -> None:
        networks = await checked_answer(
            outside.partner(), list[NetworkWithTokensModel], "GET", "/networks"
        )

        assert {network["name"] for network in networks} == set(outside.networks)
        for network in networks:
            assert network["token"]["contract"] is None
            assert network["node_url"] == network["nodes"][0]

    async def test_of_a_quote(self, outside: Outside) -> None:
        answer = await checked_answer(
            outside.partner(), QuotedModel, "GET", "/quote", params=PARAMETERS
        )

        quote = answer["quote"]
        assert quote["requested_amount"] == 0.02
        assert quote["min_receive_amount"] <= quote["receive_amount"]
        assert quote["total_fee"] == pytest.approx(quote["blockchain_fee"] + quote["service_fee"])

    async def test_of_limits(self, outside: Outside) -> None:
        limits = await checked_answer(
            outside.partner(), LimitsModel, "GET", "/limits", params=PARAMETERS
        )

        assert 0 < limits["min_amount"] < limits["max_amount"]

    async def test_of_health(self, outside: Outside) -> None:
        await checked_answer(outside.partner(), HealthModel, "GET", "/health")
