"""Swaps that are funded by a transfer to their own address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from eth_typing import HexStr
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.address import to_checksum_address
from web3.types import TxParams

from swap_stack.places import ROOT
from tests.e2e.chains import Chain
from tests.e2e.claims import claim_of, deposits_in_suspense
from tests.e2e.journey import CompletedJourney, run_journey
from tests.e2e.outside import FinishedSwap, Outside, Route, User, call_data, new_address
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
from tests.plugins.stack import Stack
from tests.support.waiting import until

COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.4")
TOKEN = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "120.5")
BY_ADDRESS = {"use_depository": False, "use_deposit_address": True}
ROUTES = pytest.mark.parametrize("route", [COIN, TOKEN], ids=["coin", "token"])


@pytest.fixture(scope="class")
def done(stack: Stack, request: pytest.FixtureRequest) -> FinishedSwap:
    route: Route = request.cls.route
    return run_journey(stack, route, **BY_ADDRESS)


@pytest.mark.each_broker
class TestCoin(CompletedJourney):
    route = COIN

    def test_shows_the_deposit_that_the_user_sent(self, done: FinishedSwap) -> None:
        deposit = done.transaction("input")

        # No log contains the transaction: the balance was counted, and the transaction was looked
        # up.
        assert deposit["transaction_hash"] == done.sent[-1]
        assert deposit["from"] is not None
        assert deposit["to"] == done.prepared["deposit_actions"][0]["to_address"]
        assert deposit["amount"] == float(self.route.amount)
        assert deposit["confirmations"] == deposit["max_confirmations"] > 0

    async def test_is_found_by_the_hash_of_its_deposit_and_of_its_payout(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        for kind in ("input", "output"):
            transaction_hash = done.transaction(kind)["transaction_hash"]
            found = await outside.partner().get(f"/swaps/by_transaction_hash/{transaction_hash}")
            assert found["swap"] == done.last["swap"]

    async def test_is_swept_from_its_address(
        self, done: FinishedSwap, outside: Outside, stack: Stack
    ) -> None:
        await is_swept(stack, outside, self.route, done)


class TestToken(CompletedJourney):
    route = TOKEN

    def test_asks_an_operator_for_a_transfer(self, done: FinishedSwap) -> None:
        [action] = done.prepared["deposit_actions"]

        assert action["type"] == "manual_transfer"
        assert (action["amount"], action["amount_in_base_units"]) == (120.5, str(1205 * 10**5))
        assert (action["call_data"], action["gas_limit"]) == (None, None)
        assert done.prepared["swap"]["use_deposit_address"] is True

    async def test_is_swept_from_its_address(
        self, done: FinishedSwap, outside: Outside, stack: Stack
    ) -> None:
        await is_swept(stack, outside, self.route, done)


class TestAnAddress:
    @pytest.mark.fault("W25")
    async def test_w25_is_the_factorys_own_and_no_other_swaps(self, outside: Outside) -> None:
        factory = outside.networks[COIN.source_network]["contracts"]["deposit_address_factory"]
        addresses = set()
        for _ in range(2):
            prepared = await outside.partner().create(COIN, new_address(), **BY_ADDRESS)
            number = prepared["swap"]["metadata"]["sequence_number"]
            data = call_data("addressOf(bytes32)", number.to_bytes(32))
            question: TxParams = {"to": to_checksum_address(factory), "data": data}
            answer = await outside.chain(COIN.source_network).eth.call(question)
            [action] = prepared["deposit_actions"]
            assert action["to_address"] == to_checksum_address(answer[-20:])
            addresses.add(action["to_address"])
        assert len(addresses) == 2

    async def test_is_offered_by_every_network_that_has_a_factory(self, outside: Outside) -> None:
        contracts = {name: network["contracts"] for name, network in outside.networks.items()}
        having = {
            name for name, addresses in contracts.items() if addresses["deposit_address_factory"]
        }

        async def is_offered() -> bool:
            networks = await outside.partner().get("/networks")
            return having == {
                network["name"]
                for network in networks
                if "deposit_address" in network["deposit_methods"]
            }

        # If its nodes were slow at its start, a service queries the factories again.
        await until(is_offered, what=f"deposit addresses on {having}")

    @ROUTES
    async def test_takes_any_amount_where_none_was_named(
        self, outside: Outside, route: Route
    ) -> None:
        prepared = await outside.partner().create(route, new_address(), **BY_ADDRESS, amount=None)
        assert prepared["swap"]["requested_amount"] == 0
        [action] = prepared["deposit_actions"]
        assert (action["amount"], action["amount_in_base_units"]) == (0, "0")

        amount = 10**17 if route is COIN else 33 * 10**6
        await outside.user(route.source_network).transfer(action, amount)
        seen = await outside.follow(prepared["swap"]["id"])

        swap, quote = seen[-1]["swap"], seen[-1]["quote"]
        assert (swap["status"], swap["requested_amount"]) == (
            "completed",
            0.1 if route is COIN else 33.0,
        )
        assert swap["quote_revision"] == 1
        assert 0 < quote["receive_amount"] < swap["requested_amount"]

    @pytest.mark.fault("W20")
    async def test_w20_takes_a_coin_from_a_contract(self, outside: Outside) -> None:
        prepared = await outside.partner().create(COIN, new_address(), **BY_ADDRESS)
        [action] = prepared["deposit_actions"]
        await through_a_wallet(outside.user(COIN.source_network), action)

        seen = await outside.follow(prepared["swap"]["id"])

        assert seen[-1]["swap"]["status"] == "completed"

    @pytest.mark.fault("W22")
    async def test_w22_adds_up_parts(self, outside: Outside) -> None:
        prepared = await outside.partner().create(TOKEN, new_address(), **BY_ADDRESS)
        [action] = prepared["deposit_actions"]
        user, swap_id = outside.user(TOKEN.source_network), prepared["swap"]["id"]

        # Both are seen in one block and become final together, so the sum is the requested amount.
        async with Chain(outside.networks[TOKEN.source_network]["rpc_urls"][0]).stop_mining():
            await user.transfer(action, 100 * 10**6)
            await user.transfer(action, 205 * 10**5)
        seen = await outside.follow(swap_id)

        swap = seen[-1]["swap"]
        assert swap["status"] == "completed"
        assert sorted(t["amount"] for t in swap["transactions"] if t["type"] == "input") == [
            20.5,
            100.0,
        ]

    @pytest.mark.fault("W22")
    async def test_w22_keeps_another_token_for_its_owner(
        self, stack: Stack, outside: Outside
    ) -> None:
        prepared = await outside.partner().create(TOKEN, new_address(), **BY_ADDRESS)
        [action] = prepared["deposit_actions"]
        before = await deposits_in_suspense(stack)

        coin, user = {**action, "token": {"contract": None}}, outside.user(TOKEN.source_network)
        [sent] = await user.transfer(coin, 777)
        await user.receipt(sent)

        # A coin is in no log: it is found by the address's balance, and a stack that has not read
        # the balance yet looks idle.
        async def is_suspended() -> bool:
            return any(row not in before for row in await deposits_in_suspense(stack))

        await until(is_suspended, what="the coin booked as claimable")
        [suspended_deposit] = [
            row for row in await deposits_in_suspense(stack) if row not in before
        ]
        assert (suspended_deposit["base_units"], suspended_deposit["swap_id"]) == ("777", None)
        swap = (await outside.partner().read(prepared["swap"]["id"]))["swap"]
        assert (swap["status"], swap["transactions"]) == ("user_transfer_pending", [])

        # Its sweep has no other payer, so it is paid like any claimable balance.
        network, owner = TOKEN.source_network, new_address()
        order = {"by": "ann", "reason": "its owner asks for it"}
        there = {"network": network, "address": action["to_address"], "token": "ETH"}
        await stack.order("settler", "/sweeps", {**there, **order})

        async def is_empty() -> bool:
            return await outside.balance(network, "ETH", action["to_address"]) == 0

        await until(is_empty, what="another token swept")
        paid = {"to_address": owner, "base_units": "777", **order}
        await stack.order("settler", f"/claimable/{suspended_deposit['id']}/pay", paid)

        async def is_paid() -> bool:
            return await outside.balance(network, "ETH", owner) == 777

        await until(is_paid, what="its owner paid")


class TestRefunds:
    @ROUTES
    @pytest.mark.fault("W23")
    async def test_w23_deposit_after_the_end_is_refunded(
        self, outside: Outside, route: Route
    ) -> None:
        owner = new_address()
        done = await outside.swap(route, **BY_ADDRESS, refund_address=owner)
        [action] = done.prepared["deposit_actions"]

        await outside.user(route.source_network).transfer(
            action, int(action["amount_in_base_units"])
        )
        swap = await refunded(outside, done.id)

        assert swap["status"] == "completed"
        got = await outside.balance(route.source_network, route.source_token, owner)
        assert 0 < got < int(action["amount_in_base_units"])

    @pytest.mark.fault("W23")
    async def test_w23_a_deposit_after_the_end_is_claimable_without_a_refund_address(
        self, stack: Stack, outside: Outside
    ) -> None:
        done = await outside.swap(COIN, **BY_ADDRESS)
        [action] = done.prepared["deposit_actions"]

        await outside.user(COIN.source_network).transfer(action, 1000)
        claim = await claim_of(stack, done.id)

        assert claim["base_units"] == "1000"

    @pytest.mark.each_broker
    async def test_a_payout_that_cannot_be_made_is_refunded(self, outside: Outside) -> None:
        owner = new_address()
        recipient = await contract_that_refuses(outside, COIN.destination_network)
        prepared = await outside.partner().create(
            COIN, recipient, **BY_ADDRESS, refund_address=owner
        )

        await outside.fund(prepared, COIN)
        seen = await outside.follow(prepared["swap"]["id"])

        assert seen[-1]["swap"]["status"] == "refunded"
        assert 0 < await outside.balance(COIN.source_network, "ETH", owner) < 4 * 10**17


class TestSweeps:
    @ROUTES
    @pytest.mark.fault("W24")
    async def test_w24_external_sweep_does_not_affect_the_swap(
        self, outside: Outside, route: Route
    ) -> None:
        """The user sweeps the address with the next transaction."""
        network = outside.networks[route.source_network]
        prepared = await outside.partner().create(route, new_address(), **BY_ADDRESS)
        [action] = prepared["deposit_actions"]
        user = outside.user(route.source_network)
        number = prepared["swap"]["metadata"]["sequence_number"]
        token = action["token"]["contract"] or "0x" + "0" * 40
        sweep: TxParams = {
            "to": to_checksum_address(network["contracts"]["deposit_address_factory"]),
            "value": 0,  # type: ignore[typeddict-item]
            "data": sweep_data(number, token),
            "gas": 500_000,
        }

        await user.transfer(action, int(action["amount_in_base_units"]))
        await user.send(sweep)
        seen = await outside.follow(prepared["swap"]["id"])

        assert seen[-1]["swap"]["status"] == "completed"

    async def test_r1_deposit_that_a_reorg_removes_is_reverted(
        self, outside: Outside, stack: Stack
    ) -> None:
        chain = Chain.of(stack.description, COIN.source_network)
        prepared = await outside.partner().create(COIN, new_address(), **BY_ADDRESS)
        [action] = prepared["deposit_actions"]
        swap_id = prepared["swap"]["id"]
        assert await is_followed(stack, action["to_address"])

        user = outside.user(COIN.source_network)
        async with chain.stop_mining():
            await user.transfer(action, 10**15)  # a partial deposit, which causes no payout
            await chain.mine()
            await until(lambda: has_inputs(outside, swap_id, 1), what="the part is seen")
            await chain.reorg(1)
            await until(lambda: has_inputs(outside, swap_id, 0), what="the part is gone")


def sweep_data(number: int, token: str) -> HexStr:
    """Return the factory's call that sweeps a token from an address."""
    selector = function_signature_to_4byte_selector("sweep((bytes32,address)[])")
    words = (32, 1, number, int(token, 16))
    return HexStr("0x" + (selector + b"".join(word.to_bytes(32) for word in words)).hex())


async def has_inputs(outside: Outside, swap_id: str, count: int) -> bool:
    swap = (await outside.partner().read(swap_id))["swap"]
    return len([t for t in swap["transactions"] if t["type"] == "input"]) == count


async def refunded(outside: Outside, swap_id: str) -> Mapping[str, Any]:
    """Wait until a swap shows a final refund."""

    async def found() -> Mapping[str, Any] | None:
        swap: Mapping[str, Any] = (await outside.partner().read(swap_id))["swap"]
        refunds = [t for t in swap["transactions"] if t["type"] == "refund"]
        return swap if refunds and refunds[-1]["status"] == "completed" else None

    swap = await until(found, what=f"a refund of {swap_id}")
    return dict(swap)


async def is_swept(stack: Stack, outside: Outside, route: Route, done: FinishedSwap) -> None:
    """Wait until a swap's address is empty on the chain and in the ledger."""
    address = done.prepared["deposit_actions"][0]["to_address"]
    query = (
        "SELECT coalesce(sum(balance), 0) FROM settler.account"
        " WHERE kind = 'custody' AND holder = 'deposit_address' AND address = %s"
    )

    async def is_empty() -> bool:
        async with await psycopg.AsyncConnection.connect(stack.auditor_url) as connection:
            [held] = await (await connection.execute(query, [address])).fetchone() or (None,)
        there = await outside.balance(route.source_network, route.source_token, address)
        return (held, there) == (0, 0)

    await until(is_empty, what=f"{address} is swept")


async def is_followed(stack: Stack, address: str) -> bool:
    query = "SELECT position IS NOT NULL FROM chain_watcher.deposit_target WHERE address = %s"

    async def is_watched() -> bool:
        async with await psycopg.AsyncConnection.connect(stack.auditor_url) as connection:
            row = await (await connection.execute(query, (address,))).fetchone()
        return row == (True,)

    return bool(await until(is_watched, what="the address is followed"))


async def through_a_wallet(user: User, action: Mapping[str, Any]) -> None:
    """Send a coin from a wallet that is a contract."""
    artifact = json.loads((ROOT / "evm/artifacts/DevWallet.json").read_text())
    wallet = (await user.create(HexStr(artifact["bytecode"])))["contractAddress"]
    value = int(action["amount_in_base_units"])
    packed = bytes.fromhex(action["to_address"][2:]) + value.to_bytes(32) + bytes(32)
    call: TxParams = {
        "to": to_checksum_address(str(wallet)),
        "value": value,  # type: ignore[typeddict-item]
        "data": call_data("execute(bytes)", packed),
        "gas": 400_000,
    }
    [sent] = await user.send(call)
    await user.receipt(sent)
