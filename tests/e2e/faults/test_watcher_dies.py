"""The chain-watcher is killed: no movement is lost or published twice, and it finds a reorg."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from tests.e2e.chains import Chain
from tests.e2e.idle_stack import wait_until_idle
from tests.e2e.outside import Outside
from tests.e2e.test_reorgs import (
    AT_ONCE,
    approve_unlimited,
    deposit_in_a_block,
    shows_inputs,
)
from tests.e2e.test_reorgs import ROUTE as LATE
from tests.plugins.stack import Stack
from tests.support.waiting import until_true_here


class TestCrash:
    @pytest.mark.fault("W8")
    async def test_w8_within_a_block_publishes_all_of_it_afterwards(
        self, stack: Stack, outside: Outside
    ) -> None:
        crash = "chain_watcher.before_commit:1"
        async with AsyncExitStack() as stopped:
            for network in outside.networks:
                chain = Chain.of(stack.description, network)
                await stopped.enter_async_context(chain.stop_mining())
            await wait_until_idle(stack.description)  # a remaining block would be the first
            await stack.restart_to_crash("chain_watcher", crash)
            assert not stack.has_crashed("chain_watcher", crash)

            # The first block after its start is the one with the deposit.
            chain = Chain.of(stack.description, AT_ONCE.source_network)
            swap_id, sent = await deposit_in_a_block(outside, chain, AT_ONCE)
            await until_true_here(
                lambda: stack.has_crashed("chain_watcher", crash), what="the watcher dies"
            )
        seen = await outside.follow(swap_id)

        swap = seen[-1]["swap"]
        assert swap["status"] == "completed"
        inputs = [t["transaction_hash"] for t in swap["transactions"] if t["type"] == "input"]
        assert inputs == [sent]


class TestReorgWhileItIsAway:
    @pytest.mark.fault("W6")
    async def test_w6_is_found_after_the_restart(self, stack: Stack, outside: Outside) -> None:
        chain = Chain.of(stack.description, LATE.source_network)
        async with chain.stop_mining():
            await approve_unlimited(outside, chain)
            swap_id, sent = await deposit_in_a_block(outside, chain, LATE)
            await shows_inputs(outside, swap_id, sent)

            async with stack.hold("chain_watcher"):
                raw = await chain.raw(sent)
                await chain.reorg(1)
                await chain.mine()
            await shows_inputs(outside, swap_id)

            await chain.call("eth_sendRawTransaction", raw)
            await chain.mine()
        seen = await outside.follow(swap_id)

        assert seen[-1]["swap"]["status"] == "completed"
