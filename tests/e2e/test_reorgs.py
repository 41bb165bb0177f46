"""Deposits that a reorg removes, before and after their confirmation."""

from __future__ import annotations

import pytest

from tests.e2e.chains import Chain
from tests.e2e.outside import Outside, Route, call_data, new_address
from tests.plugins.stack import WAITS_FOR_FINALITY, Stack
from tests.support.waiting import until

# This token is confirmed at the chain's finality, two blocks later.
ROUTE = Route(*WAITS_FOR_FINALITY, "ETHEREUM_DEVNET", "USDC", "30")
AT_ONCE = Route("BASE_DEVNET", "ETH", "ETHEREUM_DEVNET", "ETH", "0.1")
UNLIMITED = 2**256 - 1


async def approve_unlimited(outside: Outside, chain: Chain) -> None:
    """Approve the user's tokens for the Depository without a limit, in a separate block."""
    network = outside.networks[ROUTE.source_network]
    token = outside.token(ROUTE.source_network, ROUTE.source_token)["contract"]
    data = call_data("approve(address,uint256)", network["contracts"]["depository"], UNLIMITED)
    await outside.user(ROUTE.source_network).send(
        {"to": token, "value": 0, "data": data, "gas": 80_000}  # type: ignore[typeddict-item]
    )
    await chain.mine()


async def deposit_in_a_block(outside: Outside, chain: Chain, route: Route) -> tuple[str, str]:
    """Create a swap and mine its deposit alone in a block; return the swap's id and the hash."""
    prepared = await outside.partner().create(route, new_address())
    [action] = prepared["deposit_actions"]
    [sent] = await outside.user(route.source_network).send(
        {
            "to": action["to_address"],
            "value": int(action["amount_in_base_units"]),  # type: ignore[typeddict-item]
            "data": action["call_data"],
            "gas": int(action["gas_limit"]),
        }
    )
    await chain.mine()
    return prepared["swap"]["id"], sent


async def shows_inputs(outside: Outside, swap_id: str, *hashes: str) -> None:
    """Wait until the swap shows exactly these deposits."""

    async def are_shown() -> bool:
        swap = (await outside.partner().read(swap_id))["swap"]
        shown = [t["transaction_hash"] for t in swap["transactions"] if t["type"] == "input"]
        return shown == list(hashes)

    await until(are_shown, what=f"the deposits {hashes} of {swap_id}")


class TestBeforeItIsFinal:
    @pytest.mark.fault("W4")
    async def test_w4_removed_deposit_does_not_count_and_completes_when_mined_again(
        self, stack: Stack, outside: Outside
    ) -> None:
        chain = Chain.of(stack.description, ROUTE.source_network)
        async with chain.stop_mining():
            await approve_unlimited(outside, chain)
            swap_id, sent = await deposit_in_a_block(outside, chain, ROUTE)
            await shows_inputs(outside, swap_id, sent)
            raw = await chain.raw(sent)

            await chain.reorg(1)
            await shows_inputs(outside, swap_id)
            swap = (await outside.partner().read(swap_id))["swap"]
            assert (swap["status"], swap["quote_locked_at"]) == ("user_transfer_pending", None)

            await chain.call("eth_sendRawTransaction", raw)
            await chain.mine()
            await shows_inputs(outside, swap_id, sent)
        seen = await outside.follow(swap_id)

        assert seen[0]["swap"]["status"] == "user_transfer_pending"
        assert seen[-1]["swap"]["status"] == "completed"

    async def test_a_deposit_that_moves_to_another_block_is_the_same_one(
        self, stack: Stack, outside: Outside
    ) -> None:
        chain = Chain.of(stack.description, ROUTE.source_network)
        async with chain.stop_mining():
            await approve_unlimited(outside, chain)
            swap_id, sent = await deposit_in_a_block(outside, chain, ROUTE)
            await chain.mine()
            await shows_inputs(outside, swap_id, sent)
            before = await chain.block_of(sent)

            await chain.reorg(2, keep=[(await chain.raw(sent), 1)])
            assert await chain.block_of(sent) != before
        seen = await outside.follow(swap_id)

        assert seen[-1]["swap"]["status"] == "completed"
        inputs = [t for t in seen[-1]["swap"]["transactions"] if t["type"] == "input"]
        assert [t["transaction_hash"] for t in inputs] == [sent]


class TestAfterThePayout:
    @pytest.mark.fault("R5")
    async def test_r5_swap_of_a_removed_deposit_stays_completed_and_is_credited_once(
        self, stack: Stack, outside: Outside
    ) -> None:
        chain = Chain.of(stack.description, AT_ONCE.source_network)
        async with chain.stop_mining():
            swap_id, sent = await deposit_in_a_block(outside, chain, AT_ONCE)
            await outside.follow(swap_id, to=["completed"])
            raw = await chain.raw(sent)

            await chain.reorg(1)
            await shows_inputs(outside, swap_id)
            assert (await balances_of(stack, swap_id)).keys() >= {"loss"}

            await chain.call("eth_sendRawTransaction", raw)
            await chain.mine()
            await shows_inputs(outside, swap_id, sent)
        await until(lambda: has_no_balances(stack, swap_id), what="nothing is owed or lost")

        swap = (await outside.partner().read(swap_id))["swap"]
        assert swap["status"] == "completed"


async def balances_of(stack: Stack, swap_id: str) -> dict[str, str]:
    answer = await stack.admin("settler", f"/swaps/{swap_id}")
    return {row["kind"]: row["balance"] for row in answer["balances"]}


async def has_no_balances(stack: Stack, swap_id: str) -> bool:
    return await balances_of(stack, swap_id) == {}
