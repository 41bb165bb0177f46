"""What is read of a price feed on chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from libs.chains.tests.contract.conftest import ARTIFACTS, OWNER_KEY, Addresses
from swap_chains.evm.deploy import Deployer
from swap_chains.evm.price_feeds import EvmPriceFeeds, FeedAnswer
from swap_chains.evm.rpc import Rpc, open_session

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

        told = await feeds.latest([ether, dollar, ether])

        assert told == {
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

    async def test_leaves_out_what_is_no_feed(
        self, feeds: EvmPriceFeeds, contracts: Addresses
    ) -> None:
        depository, treasury, token, *_ = contracts

        assert await feeds.latest([depository, treasury, token, NOWHERE]) == {}
