"""One price from the reports of several sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.quoter.tests.factories import NOW, a_market
from swap_chains.errors import ChainUnavailable, NodesDiffer
from swap_chains.evm.price_feeds import FeedAnswer
from swap_quoter.adapters.chain_feeds import ChainFeeds, Feed
from swap_quoter.domain.agreement import AgreedPrices, Bounds, agree
from swap_quoter.domain.market import TimedValue
from swap_quoter.usecases.follow_prices import FollowPrices, PriceBook

MINUTE = timedelta(minutes=1)
BOUNDS = Bounds(MINUTE, 200)
E18 = 10**18


def ether(dollars: int, *, age: timedelta = timedelta(0)) -> Mapping[str, TimedValue]:
    return {"ETH": TimedValue(dollars * E18, NOW - age)}


def agreed(*prices: Mapping[str, TimedValue]) -> AgreedPrices:
    return agree(prices, BOUNDS, now=NOW)


class TestAgree:
    def test_of_one_source_is_its_price(self) -> None:
        assert agreed(ether(3000, age=MINUTE)).prices == ether(3000, age=MINUTE)

    def test_of_several_is_the_median_and_as_old_as_the_oldest(self) -> None:
        prices = (ether(3030), ether(3000, age=MINUTE), ether(3010))

        assert agreed(*prices).prices == {"ETH": TimedValue(3010 * E18, NOW - MINUTE)}

    def test_of_two_is_between_them(self) -> None:
        assert agreed(ether(3000), ether(3010)).prices == ether(3005)

    def test_does_not_ask_what_is_too_old(self) -> None:
        assert agreed(ether(3000), ether(9000, age=2 * MINUTE)).prices == ether(3000)

    def test_keeps_the_newest_outdated_value_for_the_callers_decision(self) -> None:
        prices = (ether(3000, age=3 * MINUTE), ether(3100, age=2 * MINUTE))

        assert agreed(*prices).prices == ether(3100, age=2 * MINUTE)

    @pytest.mark.fault("A19")
    def test_is_none_when_sources_are_too_far_apart(self) -> None:
        prices = agreed(ether(3000), ether(3061), {"USDC": TimedValue(E18, NOW)})

        assert prices.prices == {"USDC": TimedValue(E18, NOW)}
        assert prices.disputed == {"ETH": 202}  # 61 of 3030.5, rounded up

    @pytest.mark.fault("A19")
    def test_a_single_provider_source_gives_no_price_without_another(self) -> None:
        feed = {**ether(9000), "USDC": TimedValue(E18, NOW)}

        agreed = agree(
            [ether(3000, age=2 * MINUTE)], BOUNDS, now=NOW, single_provider_feeds=[feed, feed]
        )

        assert agreed.prices == ether(3000, age=2 * MINUTE)  # too old for the caller
        assert agreed.disputed == {}

    @pytest.mark.fault("A19")
    def test_a_source_of_one_provider_counts_beside_another(self) -> None:
        near = agree([ether(3000)], BOUNDS, now=NOW, single_provider_feeds=[ether(3010)])
        far = agree([ether(3000)], BOUNDS, now=NOW, single_provider_feeds=[ether(9000)])

        assert near.prices == ether(3005)
        assert far.prices == {}
        assert far.disputed.keys() == {"ETH"}

    @given(st.lists(st.integers(1, 10**30), min_size=1, max_size=7))
    def test_is_within_the_limits_in_any_order(self, values: list[int]) -> None:
        prices = [{"ETH": TimedValue(value, NOW)} for value in values]
        wide = Bounds(MINUTE, 10**40)

        price = agree(prices, wide, now=NOW).prices["ETH"].value

        assert min(values) <= price <= max(values)
        assert agree(prices[::-1], wide, now=NOW).prices["ETH"].value == price


class Feeds:
    """Feeds with reports that a test sets."""

    def __init__(self) -> None:
        self.answers: Mapping[str, FeedAnswer] | Exception = {}

    async def latest(self, aggregators: Sequence[str]) -> Mapping[str, FeedAnswer]:
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers


def a_round(dollars: int, *, age: timedelta = timedelta(0)) -> Mapping[str, FeedAnswer]:
    return {"0xfeed": FeedAnswer(dollars * 10**8, 8, NOW - age)}


class TestChainFeeds:
    async def test_a_round_that_stands_is_the_price_of_now(self) -> None:
        feeds = Feeds()
        source = ChainFeeds([Feed("ETH", "0xfeed", 60 * MINUTE)], feeds, clock=lambda: NOW)

        feeds.answers = a_round(3000, age=59 * MINUTE)
        assert await source.find_updates() == ether(3000)
        feeds.answers = a_round(3000, age=61 * MINUTE)
        assert await source.find_updates() == ether(3000, age=61 * MINUTE)

    async def test_that_disagree_with_the_file_close_the_routes_until_they_do_not(self) -> None:
        feeds, market = Feeds(), a_market()
        book = PriceBook(market, BOUNDS)
        source = ChainFeeds([Feed("ETH", "0xfeed", 60 * MINUTE)], feeds, clock=lambda: NOW)
        follow = FollowPrices(source, book, name="chain", clock=lambda: NOW)
        book.take("file", ether(3000))

        feeds.answers = a_round(2000)
        await follow()
        assert "ETH" not in market.prices
        feeds.answers = a_round(2990)
        await follow()
        assert market.prices == ether(2995)

    @pytest.mark.fault("A19")
    async def test_of_one_provider_open_no_route_without_another_source(self) -> None:
        feeds, market = Feeds(), a_market()
        book = PriceBook(market, BOUNDS, single_provider_sources=["chain"])
        source = ChainFeeds([Feed("ETH", "0xfeed", 60 * MINUTE)], feeds, clock=lambda: NOW)
        follow = FollowPrices(source, book, name="chain", clock=lambda: NOW)

        feeds.answers = a_round(3000)
        await follow()
        assert "ETH" not in market.prices
        book.take("file", ether(3000))
        await follow()
        assert market.prices == ether(3000)

    @pytest.mark.fault("A19")
    async def test_that_two_providers_do_not_report_alike_leave_the_price_to_grow_old(self) -> None:
        feeds, market, now = Feeds(), a_market(), [NOW]
        book = PriceBook(market, BOUNDS)
        source = ChainFeeds([Feed("ETH", "0xfeed", 60 * MINUTE)], feeds, clock=lambda: now[0])
        follow = FollowPrices(source, book, name="chain", clock=lambda: now[0])
        feeds.answers = a_round(3000)
        await follow()

        feeds.answers = NodesDiffer("POLYGON", 2)
        now[0] += 2 * MINUTE
        await follow()

        assert market.prices == ether(3000)  # of two minutes ago: its routes are closed

    async def test_that_do_not_answer_leave_their_last_value_to_age(self) -> None:
        feeds, market, now = Feeds(), a_market(), [NOW]
        book = PriceBook(market, BOUNDS)
        source = ChainFeeds([Feed("ETH", "0xfeed", MINUTE)], feeds, clock=lambda: now[0])
        follow = FollowPrices(source, book, name="chain", clock=lambda: now[0])
        feeds.answers = a_round(3000)
        await follow()

        for feeds.answers in (ChainUnavailable("POLYGON", ["away"]), {}):
            now[0] += 2 * MINUTE
            await follow()

        assert market.prices == ether(3000)  # with its own age
