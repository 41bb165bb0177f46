"""Swaps that are funded by a direct transfer to the Treasury."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from eth_typing import HexStr
from eth_utils.address import to_checksum_address
from web3.types import TxParams

from swap_stack.places import ROOT
from tests.e2e.claims import claim_of, deposits_in_suspense, has_no_deposit
from tests.e2e.idle_stack import wait_until_idle
from tests.e2e.journey import CompletedJourney, run_journey
from tests.e2e.outside import FinishedSwap, Outside, Route, User, call_data, new_address
from tests.plugins.stack import Stack

COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.4")
TOKEN = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "120.5")
DIRECT = {"use_depository": False}  # the tests' partner uses the Depository by default
GAS_WALLET = 400_000
SAFE_EXECUTE = (
    "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"
)


@pytest.fixture(scope="class")
def done(stack: Stack, request: pytest.FixtureRequest) -> FinishedSwap:
    route: Route = request.cls.route
    return run_journey(stack, route, **DIRECT)


class TestCoin(CompletedJourney):
    route = COIN

    def test_is_requested_as_a_value_with_a_memo(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        [action] = done.prepared["deposit_actions"]
        treasury = outside.networks[COIN.source_network]["contracts"]["treasury"]

        assert (action["type"], action["to_address"]) == ("transfer", treasury)
        assert (action["amount"], action["amount_in_base_units"]) == (0.4, str(4 * 10**17))
        number = done.prepared["swap"]["metadata"]["sequence_number"]
        assert action["call_data"] == f"0x{b'SWAP'.hex()}{number:056x}"


@pytest.mark.each_broker
class TestToken(CompletedJourney):
    route = TOKEN

    def test_is_requested_as_a_call_of_the_token(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        [action] = done.prepared["deposit_actions"]
        treasury = outside.networks[TOKEN.source_network]["contracts"]["treasury"]

        assert action["to_address"] == action["token"]["contract"]
        assert (action["amount"], action["amount_in_base_units"]) == (0, "0")
        assert action["encoded_args"] == [treasury, str(1205 * 10**5)]
        number = done.prepared["swap"]["metadata"]["sequence_number"]
        call = call_data("transfer(address,uint256)", treasury, 1205 * 10**5)
        assert action["call_data"] == f"{call}{b'SWAP'.hex()}{number:056x}"

    def test_needs_only_one_transaction(self, done: FinishedSwap) -> None:
        assert len(done.sent) == 1


class TestTheOtherWay:
    @pytest.mark.parametrize("route", [COIN.back("0.3"), TOKEN.back("75")], ids=["coin", "token"])
    async def test_is_completed(self, outside: Outside, route: Route) -> None:
        done = await outside.swap(route, **DIRECT)

        assert done.status == "completed"

    async def test_shows_the_action_again_until_it_is_paid(self, outside: Outside) -> None:
        prepared = await outside.partner().create(COIN, new_address(), **DIRECT)
        swap_id = prepared["swap"]["id"]
        [action] = prepared["deposit_actions"]

        [step] = await outside.partner().get(f"/swaps/{swap_id}/deposit_actions")
        assert (step["step"], step["status"]) == ("deposit", "action_required")
        assert {name: step[name] for name in action} == action

        await outside.fund(prepared, COIN)
        await outside.follow(swap_id)
        [step] = await outside.partner().get(f"/swaps/{swap_id}/deposit_actions")
        assert (step["status"], step["call_data"]) == ("completed", None)


class TestWithoutAMatch:
    @pytest.mark.parametrize("data", ["0x", f"0x{b'SWAP'.hex()}{7:056x}"], ids=["none", "unknown"])
    async def test_a_coin_without_a_known_memo_is_suspended(
        self, stack: Stack, outside: Outside, data: str
    ) -> None:
        swap_id, action = await a_swap(outside, COIN)
        before = await deposits_in_suspense(stack)

        await pay(outside.user(COIN.source_network), {**action, "call_data": data})
        await wait_until_idle(stack.description)

        assert await has_no_deposit(outside, swap_id)
        [suspended_deposit] = [
            row for row in await deposits_in_suspense(stack) if row not in before
        ]
        assert (suspended_deposit["base_units"], suspended_deposit["swap_id"]) == (
            action["amount_in_base_units"],
            None,
        )

    async def test_a_token_without_a_memo_is_suspended(
        self, stack: Stack, outside: Outside
    ) -> None:
        swap_id, action = await a_swap(outside, TOKEN)
        before = await deposits_in_suspense(stack)

        plain = call_data("transfer(address,uint256)", *arguments(action))
        await pay(outside.user(TOKEN.source_network), {**action, "call_data": plain})
        await wait_until_idle(stack.description)

        assert await has_no_deposit(outside, swap_id)
        [suspended_deposit] = [
            row for row in await deposits_in_suspense(stack) if row not in before
        ]
        assert (suspended_deposit["base_units"], suspended_deposit["swap_id"]) == (
            str(arguments(action)[1]),
            None,
        )

    @pytest.mark.parametrize("network", ["BASE_DEVNET", "POLYGON_DEVNET"], ids=["token", "network"])
    @pytest.mark.fault("W22")
    async def test_w22_a_memo_with_another_token_or_network_moves_no_swap(
        self, stack: Stack, outside: Outside, network: str
    ) -> None:
        """The swap expects USDC; its memo arrives with a coin, on this network or another."""
        swap_id, action = await a_swap(outside, TOKEN)
        before = await deposits_in_suspense(stack)
        elsewhere = {
            **action,
            "to_address": outside.networks[network]["contracts"]["treasury"],
            "token": {"contract": None},
            "amount_in_base_units": "1205",
            "call_data": "0x" + action["call_data"][-64:],
        }

        await pay(outside.user(network), elsewhere)
        await wait_until_idle(stack.description)

        assert await has_no_deposit(outside, swap_id)
        [suspended_deposit] = [
            row for row in await deposits_in_suspense(stack) if row not in before
        ]
        assert (suspended_deposit["network"], suspended_deposit["base_units"]) == (network, "1205")

    @pytest.mark.fault("W16")
    async def test_w16_one_transfer_funds_no_other_swap_of_the_same_amount(
        self, stack: Stack, outside: Outside
    ) -> None:
        prepared = await outside.partner().create(TOKEN, new_address(), **DIRECT)
        another_id, _ = await a_swap(outside, TOKEN)
        before = await deposits_in_suspense(stack)

        await outside.fund(prepared, TOKEN)
        seen = await outside.follow(prepared["swap"]["id"])
        await wait_until_idle(stack.description)

        assert seen[-1]["swap"]["status"] == "completed"
        assert await has_no_deposit(outside, another_id)
        assert await deposits_in_suspense(stack) == before

    @pytest.mark.fault("W23")
    async def test_w23_a_second_transfer_is_claimable_on_its_own(
        self, stack: Stack, outside: Outside
    ) -> None:
        done = await outside.swap(COIN, **DIRECT)

        await outside.fund(done.prepared, COIN, value=1000)
        claim = await claim_of(stack, done.id)

        assert claim["base_units"] == "1000"
        assert (await outside.partner().read(done.id))["swap"]["status"] == "completed"


class TestThroughAContract:
    @pytest.mark.parametrize("route", [COIN, TOKEN], ids=["coin", "token"])
    @pytest.mark.fault("W20")
    async def test_w20_the_memo_is_found(
        self, stack: Stack, outside: Outside, route: Route
    ) -> None:
        user = outside.user(route.source_network)
        swap_id, action = await a_swap(outside, route)
        wallet = await a_wallet(user, action)
        before = await deposits_in_suspense(stack)

        sent = await execute(user, wallet, action)
        seen = await outside.follow(swap_id)

        swap = seen[-1]["swap"]
        assert swap["status"] == "completed"
        [deposit] = [t for t in swap["transactions"] if t["type"] == "input"]
        assert (deposit["transaction_hash"], deposit["from"]) == (sent, wallet)
        assert await deposits_in_suspense(stack) == before

    @pytest.mark.parametrize("route", [COIN, TOKEN], ids=["coin", "token"])
    @pytest.mark.fault("W20")
    async def test_w20_transfer_without_a_memo_is_suspended(
        self, stack: Stack, outside: Outside, route: Route
    ) -> None:
        user = outside.user(route.source_network)
        swap_id, action = await a_swap(outside, route)
        wallet = await a_wallet(user, action)
        before = await deposits_in_suspense(stack)

        plain = "0x" if route is COIN else action["call_data"][:-64]
        await execute(user, wallet, {**action, "call_data": plain})
        await wait_until_idle(stack.description)

        assert await has_no_deposit(outside, swap_id)
        [suspended_deposit] = [
            row for row in await deposits_in_suspense(stack) if row not in before
        ]
        assert suspended_deposit["swap_id"] is None

    @pytest.mark.fault("W21")
    async def test_w21_a_transfer_that_only_stands_in_call_data_is_none(
        self, stack: Stack, outside: Outside
    ) -> None:
        user = outside.user(TOKEN.source_network)
        swap_id, action = await a_swap(outside, TOKEN)
        before = await deposits_in_suspense(stack)

        wallet = await a_wallet(user, None)
        await execute(user, wallet, {**action, "to_address": new_address()})
        await wait_until_idle(stack.description)

        assert await has_no_deposit(outside, swap_id)
        assert await deposits_in_suspense(stack) == before


async def a_swap(outside: Outside, route: Route) -> tuple[str, Mapping[str, Any]]:
    """Create a swap; return its id and its deposit action."""
    prepared = await outside.partner().create(route, new_address(), **DIRECT)
    [action] = prepared["deposit_actions"]
    return prepared["swap"]["id"], action


def arguments(action: Mapping[str, Any]) -> tuple[str, int]:
    """Return the recipient and the amount of a token's transfer."""
    treasury, amount = action["encoded_args"]
    return treasury, int(amount)


async def pay(user: User, action: Mapping[str, Any]) -> str:
    """Send an action and wait until it is mined; return its hash."""
    [sent] = await user.fund(action)
    await user.receipt(sent)
    return sent


async def a_wallet(user: User, action: Mapping[str, Any] | None) -> str:
    """Create a wallet that is a contract, with the tokens for an action."""
    artifact = json.loads((ROOT / "evm/artifacts/DevWallet.json").read_text())
    wallet = (await user.create(HexStr(artifact["bytecode"])))["contractAddress"]
    if action is not None and action["encoded_args"]:
        filled = call_data("transfer(address,uint256)", wallet, arguments(action)[1])
        await pay(user, {**action, "call_data": filled})
    return str(wallet)


async def execute(user: User, wallet: str, action: Mapping[str, Any]) -> str:
    """Send an action through a wallet as a Safe does; return the transaction's hash."""
    value, data = int(action["amount_in_base_units"]), bytes.fromhex(action["call_data"][2:])
    to = to_checksum_address(action["to_address"])
    zero_address = "0x" + "00" * 20
    order = (to, value, data, 0, 0, 0, 0, zero_address, zero_address, b"")
    call: TxParams = {
        "to": to_checksum_address(wallet),
        "value": value,  # type: ignore[typeddict-item]
        "data": call_data(SAFE_EXECUTE, *order),
        "gas": GAS_WALLET,
    }
    [sent] = await user.send(call)
    await user.receipt(sent)
    return sent
