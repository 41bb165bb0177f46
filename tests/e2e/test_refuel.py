"""A refuel beside the output is sent after it and never delays it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e.claims import claim_of
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
from tests.plugins.stack import Stack
from tests.support.waiting import until

ROUTE = Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "USDC", "30")


async def with_final_refuel(outside: Outside, swap_id: str) -> Mapping[str, Any]:
    async def shown() -> Mapping[str, Any] | None:
        answer = await outside.partner().read(swap_id)
        transactions = answer["swap"]["transactions"]
        is_final = all(t["status"] == "completed" for t in transactions)
        return answer if is_final and len(transactions) == 3 else None

    return await until(shown, what=f"the refuel of {swap_id} is final")


class TestRefuel:
    @pytest.mark.each_broker
    async def test_arrives_beside_the_output(self, stack: Stack, outside: Outside) -> None:
        done = await outside.swap(ROUTE, refuel=True)

        answer = await with_final_refuel(outside, done.id)

        assert done.statuses[-1] == "completed"
        kinds = [t["type"] for t in answer["swap"]["transactions"]]
        assert sorted(kinds) == ["input", "output", "refuel"]
        [refuel] = [t for t in answer["swap"]["transactions"] if t["type"] == "refuel"]
        assert (refuel["to"], refuel["token"]["symbol"]) == (done.recipient, "ETH")
        assert refuel["amount"] == done.prepared["refuel"]["amount"] > 0
        got = await outside.balance(ROUTE.destination_network, "ETH", done.recipient)
        assert got == round(refuel["amount"] * 10**8) * 10**10
        quote = done.prepared["quote"]
        assert quote["refuel_in_source"] > 0
        spent = quote["total_fee"] + quote["refuel_in_source"] + quote["receive_amount"]
        assert abs(spent - 30) < 10**-5
        found = await outside.partner().get(
            f"/swaps/by_transaction_hash/{refuel['transaction_hash']}"
        )
        assert found["swap"]["id"] == done.id

    async def test_that_is_refused_is_claimable_and_the_swap_completes(
        self, stack: Stack, outside: Outside
    ) -> None:
        recipient = await contract_that_refuses(outside, ROUTE.destination_network)
        prepared = await outside.partner().create(
            ROUTE, recipient, refuel=True, refund_address=new_address()
        )
        swap_id = prepared["swap"]["id"]
        await outside.fund(prepared, ROUTE, user=1)

        await outside.follow(swap_id)
        claim = await claim_of(stack, swap_id)  # the output is not delayed by it
        last = await outside.partner().read(swap_id)

        assert (last["swap"]["status"], last["refuel"]) == ("completed", None)
        assert [t["type"] for t in last["swap"]["transactions"]] == ["input", "output"]
        assert await outside.balance(ROUTE.destination_network, "USDC", recipient) > 0
        assert await outside.balance(ROUTE.destination_network, "ETH", recipient) == 0
        assert claim["network"] == ROUTE.destination_network
        assert int(claim["base_units"]) == round(prepared["refuel"]["amount"] * 10**8) * 10**10
