"""Prices from feeds on chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from swap_chains.errors import ChainError
from swap_chains.evm.price_feeds import EvmPriceFeeds, FeedAnswer
from swap_quoter.domain.market import USD_DECIMALS, TimedValue
from swap_quoter.ports import PricesUnreadable
from swap_runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class Feed:
    """One feed: its symbol, and the maximum age of a round."""

    symbol: str
    aggregator: str
    max_age: timedelta  # its heartbeat: it is silent while the price stays where it is


class ChainFeeds:
    """The feeds of one network, as one source. A feed that falls silent grows old by itself."""

    def __init__(self, feeds: Sequence[Feed], reader: EvmPriceFeeds, *, clock: Clock) -> None:
        self._feeds = tuple(feeds)
        self._reader = reader
        self._clock = clock
        self._known: Mapping[str, TimedValue] = {}

    async def find_updates(self) -> Mapping[str, TimedValue]:
        """Ask every feed.

        :raises PricesUnreadable: when no node answers, or no feed gives a price.
        """
        asked_at = self._clock()
        try:
            rounds = await self._reader.latest([feed.aggregator for feed in self._feeds])
        except ChainError as error:
            raise PricesUnreadable(str(error)) from error
        if not rounds:
            raise PricesUnreadable("no feed gives a price")
        updates = {
            feed.symbol: _to_timed_value(feed, rounds[feed.aggregator], asked_at)
            for feed in self._feeds
            if feed.aggregator in rounds
        }
        self._known = {**self._known, **updates}
        return self._known


def _to_timed_value(feed: Feed, answer: FeedAnswer, asked_at: datetime) -> TimedValue:
    """Say how old a price is: a round that stands is the price of now, an older one is as it is."""
    value = answer.value * 10**USD_DECIMALS // 10**answer.decimals
    is_fresh = asked_at - answer.at <= feed.max_age
    return TimedValue(value, asked_at if is_fresh else answer.at)
