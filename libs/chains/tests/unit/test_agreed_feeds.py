"""A price counts when two providers report it for the same recent block."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from swap_chains.errors import ChainUnavailable, NodesDiffer
from swap_chains.evm import codec
from swap_chains.evm.price_feeds import ROUND, EvmPriceFeeds, FeedAnswer
from swap_chains.evm.rpc import Rpc

FEED = codec.checksum_address("0x" + "fe" * 20)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = 60

pytestmark = pytest.mark.fault("A19")


def feeds_of(session, *nodes):
    urls = [node.url for node in nodes]
    rpc = Rpc.to_urls(
        "TESTNET", urls, session, timeout_seconds=2, rounds=1, coalesces_requests=True
    )
    return EvmPriceFeeds(rpc)


def saying(dollars, *, before=None):
    """Return answers with this price of the feed, and another price at an earlier block."""

    def change(method, params, answer):
        if method != "eth_call":
            return answer
        call, place = params
        if call["data"] != "0x" + ROUND.hex():
            return f"0x{8:064x}"
        block, earlier = before or (None, 0)
        is_earlier = block is not None and place == {"blockHash": block["hash"]}
        value = (earlier if is_earlier else dollars) * 10**8
        at = int(NOON.timestamp())
        return "0x" + "".join(f"{word:064x}" for word in (1, value, at, at, 1))

    return change


def price_of(dollars):
    return {FEED: FeedAnswer(dollars * 10**8, 8, NOON)}


@pytest.fixture
async def nodes(serve):
    """Return three nodes of three providers, on one chain of eleven blocks."""
    served = [await serve() for _ in range(3)]
    for node in served:
        node.chain.grow(10)
        node.change = saying(3000)
    return served


@pytest.mark.parametrize("false_node", [0, 1])
async def test_two_nodes_that_differ_report_no_price(session, nodes, false_node):
    feeds = feeds_of(session, *nodes[:2])
    assert await feeds.latest([FEED]) == price_of(3000)

    nodes[false_node].change = saying(1)

    with pytest.raises(NodesDiffer):
        await feeds.latest([FEED])


async def test_two_correct_nodes_outvote_a_false_one(session, nodes):
    nodes[0].change = saying(1)

    assert await feeds_of(session, *nodes).latest([FEED]) == price_of(3000)


async def test_a_price_of_a_minute_ago_is_not_passed_off_as_the_newest(session, nodes):
    false_node, correct_node, _ = nodes
    for block in (*false_node.chain.blocks[8:], *correct_node.chain.blocks[8:]):
        block["timestamp"] = hex(int(block["timestamp"], 16) + MINUTE)
    false_node.chain.cut(4)
    false_node.change = correct_node.change = saying(
        3000, before=(correct_node.chain.blocks[6], 2000)
    )

    with pytest.raises(ChainUnavailable):
        await feeds_of(session, false_node, correct_node).latest([FEED])


async def test_a_provider_one_block_behind_does_not_prevent_a_price(session, nodes):
    ahead, behind, _ = nodes
    ahead.chain.grow(1)
    common = behind.chain.blocks[-1]
    ahead.change = saying(3001, before=(common, 3000))

    assert await feeds_of(session, ahead, behind).latest([FEED]) == price_of(3000)


async def test_price_needs_reports_of_two_nodes(session, nodes):
    nodes[1].change = lambda method, params, answer: {"code": -32603, "message": "later"}

    with pytest.raises(ChainUnavailable):
        await feeds_of(session, *nodes[:2]).latest([FEED])


async def test_a_poll_is_two_requests_to_each_provider(session, nodes):
    feeds = feeds_of(session, *nodes[:2])

    await feeds.latest([FEED])

    assert [node.requests for node in nodes[:2]] == [2, 2]


async def test_the_only_provider_is_asked_once_at_its_head(session, nodes):
    assert await feeds_of(session, nodes[0]).latest([FEED]) == price_of(3000)
    assert nodes[0].requests == 1
