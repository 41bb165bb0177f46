"""What the service returns works in another wallet too, to the last byte and with nothing added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e import viem
from tests.e2e.outside import AMOUNT_ARGUMENT, Outside, Route, call_data, new_address

COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.02")
TOKEN = Route("BASE_DEVNET", "DAI", "POLYGON_DEVNET", "USDC", "30")
SENDER = 7


def approval_of(action: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what lets the Depository take what the action deposits."""
    amount = int(action["encoded_args"][AMOUNT_ARGUMENT])
    return {
        "to_address": action["token"]["contract"],
        "amount_in_base_units": "0",
        "call_data": call_data("approve(address,uint256)", action["to_address"], amount),
        "gas_limit": None,
    }


class TestViem:
    @pytest.mark.parametrize("route", [COIN, TOKEN], ids=["coin", "token"])
    @pytest.mark.parametrize("use_depository", [False, True], ids=["direct", "depository"])
    async def test_sends_a_deposit_action_as_it_is(
        self, outside: Outside, route: Route, use_depository: bool
    ) -> None:
        user = outside.user(route.source_network, SENDER)
        recipient = new_address()
        prepared = await outside.partner().create(route, recipient, use_depository=use_depository)
        [action] = prepared["deposit_actions"]
        is_taken = use_depository and route is TOKEN
        actions = [approval_of(action), action] if is_taken else [action]

        rpc_url = outside.networks[route.source_network]["rpc_urls"][0]
        *_, sent = await viem.send(rpc_url, user.private_key, actions)
        seen = await outside.follow(prepared["swap"]["id"])

        swap = seen[-1]["swap"]
        assert swap["status"] == "completed"
        inputs = [t["transaction_hash"] for t in swap["transactions"] if t["type"] == "input"]
        assert inputs == [sent]
        got = await outside.balance(route.destination_network, route.destination_token, recipient)
        assert got > 0
