"""Reading of an on-chain price feed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from libs.chains.tests.contract.conftest import ARTIFACTS, OWNER_KEY, Addresses
from swap_chains.errors import NodesDiffer
from swap_chains.evm.deploy import Deployer
from swap_chains.evm.price_feeds import EvmPriceFeeds, FeedAnswer
from swap_chains.evm.rpc import Rpc, open_session
from tests.support.falsifying_node import a_falsifying_node

pytestmark = pytest.mark.connected

AGGREGATOR = ARTIFACTS / "DevAggregator.json"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOWHERE = "0x" + "00" * 19 + "01"


@pytest_asyncio.fixture
async def feeds(anvil_url: str) -> AsyncIterator[EvmPriceFeeds]:
    async with open_session() as session:
        yield EvmPriceFeeds(Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session))


async def a_feed(url: str, value: int, *, at: int, decimals: int = 8) -> str:
    async with Deployer(url, OWNER_KEY) as deployer:
        feed = await deployer.deploy(AGGREGATOR, decimals)
        await deployer.transact(AGGREGATOR, feed, "update", value, at)
        return feed


class TestLatest:
    async def test_is_the_newest_round_of_each(self, anvil_url: str, feeds: EvmPriceFeeds) -> None:
        seconds = int(NOON.timestamp())
        ether = await a_feed(anvil_url, 3000_12345678, at=seconds)
        dollar = await a_feed(anvil_url, 10**18, at=seconds, decimals=18)

        answers = await feeds.latest([ether, dollar, ether])

        assert answers == {
            ether: FeedAnswer(3000_12345678, 8, NOON),
            dollar: FeedAnswer(10**18, 18, NOON),
        }

    @pytest.mark.parametrize(
        ("value", "at"), [(0, 1_700_000_000), (-1, 1_700_000_000), (1, 0), (1, 2**200)]
    )
    async def test_leaves_out_what_is_no_price(
        self, anvil_url: str, feeds: EvmPriceFeeds, value: int, at: int
    ) -> None:
        assert await feeds.latest([await a_feed(anvil_url, value, at=at)]) == {}

    @pytest.mark.fault("A19")
    @pytest.mark.parametrize("is_first", [True, False])
    async def test_is_none_while_one_of_two_nodes_is_false(
        self, anvil_url: str, is_first: bool
    ) -> None:
        ether = await a_feed(anvil_url, 3000 * 10**8, at=int(NOON.timestamp()))
        with a_falsifying_node(anvil_url) as false_node:
            urls = [false_node.url, anvil_url] if is_first else [anvil_url, false_node.url]
            async with open_session() as session:
                feeds = EvmPriceFeeds(Rpc.to_urls("ETHEREUM_DEVNET", urls, session, rounds=1))
                assert await feeds.latest([ether]) == {ether: FeedAnswer(3000 * 10**8, 8, NOON)}

                false_node.change = lambda method, params, result: (
                    result.replace(f"{3000 * 10**8:064x}", f"{10**8:064x}")
                    if method == "eth_call"
                    else result
                )

                with pytest.raises(NodesDiffer):
                    await feeds.latest([ether])

    @pytest.mark.fault("A19")
    async def test_of_a_node_that_is_a_block_behind_is_read_where_both_are(
        self, anvil_url: str
    ) -> None:
        seconds = int(NOON.timestamp())
        ether = await a_feed(anvil_url, 3000 * 10**8, at=seconds)
        with a_falsifying_node(anvil_url) as behind:
            urls = [anvil_url, behind.url]
            async with open_session() as session:
                rpc = Rpc.to_urls("ETHEREUM_DEVNET", urls, session, rounds=1)
                feeds, head = (
                    EvmPriceFeeds(rpc),
                    await rpc.call("eth_getBlockByNumber", "latest", False),
                )
                async with Deployer(anvil_url, OWNER_KEY) as deployer:
                    await deployer.transact(AGGREGATOR, ether, "update", 3001 * 10**8, seconds)
                behind.change = lambda method, params, result: (
                    head if method == "eth_getBlockByNumber" and params[0] == "latest" else result
                )

                answers = await feeds.latest([ether])

        assert answers == {ether: FeedAnswer(3000 * 10**8, 8, NOON)}

    async def test_leaves_out_what_is_no_feed(
        self, feeds: EvmPriceFeeds, contracts: Addresses
    ) -> None:
        depository, treasury, token, *_ = contracts

        assert await feeds.latest([depository, treasury, token, NOWHERE]) == {}
