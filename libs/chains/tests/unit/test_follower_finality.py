"""A follower's final block is one that two providers report as final, where two are configured."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from libs.chains.tests.following import follow
from swap_chains.errors import FinalBlocksDiffer
from swap_chains.events import BlockAdded, BlocksFinalized
from swap_chains.evm import codec
from swap_chains.evm.blocks import to_block
from swap_chains.evm.follower import Pace
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Node, Rpc

TOKEN = codec.checksum_address("0x" + "70" * 20)
PACE = Pace(poll_seconds=0.005, gap_blocks_max=5)


def reader_of(session, *nodes):
    rpc = Rpc.to_urls("TESTNET", [node.url for node in nodes], session, timeout_seconds=2)
    ours = codec.checksum_address("0x" + "7e" * 20)
    return EvmReader(rpc, depository=ours, treasury=ours, tokens=[TOKEN], pace=PACE)


def block(node, number):
    return to_block(Node(node.url, None), node.chain.blocks[number])


async def events_for(reader, seconds, *, after):
    """Return every event that is reported within the time."""
    seen = []
    try:
        async with asyncio.timeout(seconds), aclosing(follow(reader, after=after)) as events:
            async for event in events:
                seen.append(event)
    except TimeoutError:
        pass
    return seen


async def until_final(reader, *, after):
    async with asyncio.timeout(5), aclosing(follow(reader, after=after)) as events:
        async for event in events:
            if isinstance(event, BlocksFinalized):
                return event.upto.number
    raise AssertionError


def added(events):
    return [event.block.number for event in events if isinstance(event, BlockAdded)]


def final(events):
    return [event.upto.number for event in events if isinstance(event, BlocksFinalized)]


def away(method, params, answer):
    return {"code": -32603, "message": "later"}


@pytest.fixture
async def two(serve):
    """Return two nodes of two providers on equal chains of four blocks."""
    nodes = [await serve() for _ in range(2)]
    for node in nodes:
        node.chain.grow(4)
    return nodes


class TestNearTheHead:
    @pytest.mark.fault("W27")
    async def test_a_node_that_calls_its_head_final_is_rejected(self, session, two):
        false_node, correct_node = two
        false_node.chain.finality_depth, correct_node.chain.finality_depth = 0, 2

        assert (
            await until_final(
                reader_of(session, false_node, correct_node), after=block(false_node, 0)
            )
            == 2
        )

    @pytest.mark.fault("W27")
    async def test_blocks_that_one_of_two_providers_reports_are_added_and_not_final(
        self, session, two
    ):
        followed, other = two
        followed.chain.finality_depth = 1
        other.change = away

        events = await events_for(reader_of(session, followed, other), 0.3, after=block(two[0], 0))

        assert added(events) == [1, 2, 3, 4]
        assert final(events) == []

    async def test_becomes_final_when_the_second_provider_is_back(self, session, two):
        followed, other = two
        followed.chain.finality_depth = other.chain.finality_depth = 1
        requested = []

        def back_later(method, params, answer):
            requested.append(method)
            return away(method, params, answer) if len(requested) < 4 else answer

        other.change = back_later

        assert await until_final(reader_of(session, followed, other), after=block(two[0], 0)) == 3

    @pytest.mark.fault("W27")
    async def test_contradictory_final_blocks_stop_the_follower(self, session, serve, two):
        correct_node = two[0]
        false_node = await serve()
        false_node.chain.grow(4, salt="forged")
        false_node.chain.finality_depth = correct_node.chain.finality_depth = 1
        reader = reader_of(session, false_node, correct_node)

        with pytest.raises(FinalBlocksDiffer):
            await until_final(reader, after=block(false_node, 0))

    @pytest.mark.fault("R8")
    async def test_decreasing_finality_of_a_provider_reverts_no_final_block(self, session, two):
        followed, other = two
        followed.chain.finality_depth = other.chain.finality_depth = 1
        reader = reader_of(session, followed, other)
        numbers, asked_back = [], []

        def forward_after_two(method, params, answer):
            if params[:1] == ["finalized"]:
                asked_back.append(answer["number"])
                if len(asked_back) == 2:
                    other.chain.finality_depth = 1
            return answer

        async with (
            asyncio.timeout(60),
            aclosing(follow(reader, after=block(followed, 0))) as events,
        ):
            async for event in events:
                if not isinstance(event, BlocksFinalized):
                    continue
                numbers.append(event.upto.number)
                if len(numbers) == 2:
                    break
                for node in two:
                    node.chain.grow(2)
                other.chain.finality_depth = 4
                other.change = forward_after_two

        assert asked_back[:2] == ["0x2", "0x2"]
        assert numbers == [3, 5]

    async def test_only_provider_decides_finality_alone(self, session, two):
        two[0].chain.finality_depth = 0

        assert await until_final(reader_of(session, two[0]), after=block(two[0], 0)) == 4


class TestCatchingUp:
    @pytest.fixture
    async def far(self, serve):
        nodes = [await serve() for _ in range(2)]
        for node in nodes:
            node.chain.grow(40)
            node.chain.finality_depth = 5
        return nodes

    @pytest.mark.fault("W27")
    async def test_empty_blocks_are_skipped_only_as_far_as_two_call_them_final(self, session, far):
        false_node, correct_node = far
        false_node.chain.finality_depth, correct_node.chain.finality_depth = 0, 30

        assert (
            await until_final(
                reader_of(session, false_node, correct_node), after=block(false_node, 0)
            )
            == 10
        )

    @pytest.mark.fault("W27")
    async def test_each_block_is_read_while_the_second_provider_is_away(self, session, far):
        followed, other = far
        other.change = away

        events = await events_for(reader_of(session, followed, other), 0.5, after=block(far[0], 0))

        assert added(events) == list(range(1, 41))
        assert final(events) == []

    @pytest.mark.fault("W27")
    async def test_the_end_of_a_range_is_compared_too(self, session, far):
        """A chain that is forged below the compared final height."""
        false_node, correct_node = far
        end, forged = 35, "0x" + "ab" * 32
        requested = []

        def forge_once_compared(method, params, answer):
            if method == "eth_getBlockByNumber" and params[0] == hex(end):
                requested.append(params)
                return {**answer, "hash": forged}
            return answer

        false_node.change = forge_once_compared
        correct_node.chain.finality_depth = false_node.chain.finality_depth = 40 - end

        with pytest.raises(FinalBlocksDiffer):
            await until_final(
                reader_of(session, false_node, correct_node), after=block(false_node, 0)
            )
        assert requested
