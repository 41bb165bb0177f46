"""Events that look like a deposit and are none, or like two and are one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_typing import HexStr
from eth_utils.crypto import keccak

from swap_stack.places import ROOT
from tests.e2e.claims import deposits_in_suspense, has_no_deposit
from tests.e2e.idle_stack import wait_until_idle
from tests.e2e.outside import Outside, Route, call_data, new_address
from tests.plugins.stack import Stack

ROUTE = Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "17")
REQUESTED_UNITS = 17 * 10**6
# Whether a method has a contract between the user and the Treasury that could be faked.
NO_CONTRACT = "the user's transfer is the deposit: there is no contract between to be false"
BY_SIGNATURE = "its signature names the token, the Paymaster and the swap; nothing else fits"
METHODS = (
    pytest.param("depository", id="depository"),
    pytest.param("direct", id="direct", marks=pytest.mark.skip(reason=NO_CONTRACT)),
    pytest.param("address", id="deposit address", marks=pytest.mark.skip(reason=NO_CONTRACT)),
    pytest.param("gasless", id="gasless", marks=pytest.mark.skip(reason=BY_SIGNATURE)),
)
DEPOSITED = keccak(text="Deposited(bytes32,address,address,uint256)")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("method")
class TestFalseDepository:
    @pytest.mark.fault("W13")
    async def test_w13_is_credited_to_no_swap(self, stack: Stack, outside: Outside) -> None:
        swap_id, action = await a_swap(outside)
        before = await deposits_in_suspense(stack)

        made = await outside.user(ROUTE.source_network).create(encode_deposited(action))
        await wait_until_idle(stack.description)

        [log] = made["logs"]
        assert log["topics"][0] == DEPOSITED
        assert await has_no_deposit(outside, swap_id)
        assert await deposits_in_suspense(stack) == before

    @pytest.mark.fault("W13")
    async def test_w13_that_pays_the_treasury_credits_no_swap(
        self, stack: Stack, outside: Outside
    ) -> None:
        swap_id, action = await a_swap(outside)
        before = await deposits_in_suspense(stack)
        user = outside.user(ROUTE.source_network)
        copy = str((await user.create(copied_depository(outside)))["contractAddress"])

        sent = await user.fund(approval_of(action, copy), {**action, "to_address": copy})
        await user.receipt(sent[-1])
        await wait_until_idle(stack.description)

        assert await has_no_deposit(outside, swap_id)
        [suspended_deposit] = [
            row for row in await deposits_in_suspense(stack) if row not in before
        ]
        assert (suspended_deposit["base_units"], suspended_deposit["swap_id"]) == (
            str(REQUESTED_UNITS),
            None,
        )


class TestOneDeposit:
    @pytest.mark.fault("W16")
    async def test_w16_is_none_of_another_swap_of_the_same_amount(
        self, stack: Stack, outside: Outside
    ) -> None:
        """The token's own log shows the movement too, and would match the other swap."""
        prepared = await outside.partner().create(ROUTE, new_address())
        swap_id, (another_id, _) = prepared["swap"]["id"], await a_swap(outside)
        before = await deposits_in_suspense(stack)

        sent = await outside.fund(prepared, ROUTE)
        seen = await outside.follow(swap_id)
        await wait_until_idle(stack.description)

        swap = seen[-1]["swap"]
        assert swap["status"] == "completed"
        inputs = [t["transaction_hash"] for t in swap["transactions"] if t["type"] == "input"]
        assert inputs == sent[-1:]
        assert await has_no_deposit(outside, another_id)
        assert await deposits_in_suspense(stack) == before


async def a_swap(outside: Outside) -> tuple[str, Mapping[str, Any]]:
    """Create a swap; return its id and its deposit action."""
    prepared = await outside.partner().create(ROUTE, new_address())
    [action] = prepared["deposit_actions"]
    return prepared["swap"]["id"], action


def approval_of(action: Mapping[str, Any], spender: str) -> Mapping[str, Any]:
    """Return the approval that a contract needs for an action's deposit."""
    return {
        "type": "approve",
        "to_address": action["token"]["contract"],
        "amount_in_base_units": "0",
        "call_data": call_data("approve(address,uint256)", spender, REQUESTED_UNITS),
        "gas_limit": "100000",
    }


def copied_depository(outside: Outside) -> HexStr:
    """Return the creation of a Depository that pays the Treasury and is not in the catalogue."""
    treasury = outside.networks[ROUTE.source_network]["contracts"]["treasury"]
    artifact = json.loads((ROOT / "evm/artifacts/Depository.json").read_text())
    arguments = encode(["address", "address[]"], [new_address(), [treasury]])
    return HexStr(artifact["bytecode"] + arguments.hex())


def encode_deposited(action: Mapping[str, Any]) -> HexStr:
    """Return the creation of a contract that emits a deposit's event without a transfer."""
    key, token, receiver, amount = (int(one, 0) for one in action["encoded_args"])
    words = (receiver, token, key, int.from_bytes(DEPOSITED))
    topics = "".join(f"7f{word:064x}" for word in words)  # PUSH32
    # PUSH32 amount, PUSH1 0, MSTORE; the topics; PUSH1 32, PUSH1 0, LOG4, STOP.
    return HexStr(f"0x7f{amount:064x}600052{topics}60206000a400")
