"""Takes over what price sources say, and what they agree on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from swap_quoter import observe
from swap_quoter.domain.agreement import Bounds, agree
from swap_quoter.domain.market import Market, TimedValue
from swap_quoter.ports import PriceSource, PricesUnreadable
from swap_runtime.clock import Clock


class PriceBook:
    """The last prices of every source, and the market that follows from them."""

    def __init__(
        self, market: Market, bounds: Bounds, *, single_provider_sources: Collection[str] = ()
    ) -> None:
        """
        :param single_provider_sources: names of sources that count only beside another.
        """
        self._single_provider_sources = frozenset(single_provider_sources)
        self._market = market
        self._bounds = bounds
        self._by_source: dict[str, Mapping[str, TimedValue]] = {}
        self._disputed: Mapping[str, int] = {}

    def take(self, source: str, updates: Mapping[str, TimedValue]) -> None:
        self._by_source[source] = updates
        self._market.prices_by_source = dict(self._by_source)

    def settle(self, now: datetime) -> None:
        """Put into the market what the sources agree on now; the same again changes nothing."""
        of_one = [
            self._by_source[name] for name in self._by_source.keys() & self._single_provider_sources
        ]
        others = [
            self._by_source[name] for name in self._by_source.keys() - self._single_provider_sources
        ]
        agreed = agree(others, self._bounds, now=now, single_provider_feeds=of_one)
        if agreed.disputed != self._disputed:
            self._disputed = agreed.disputed
            observe.prices_disputed(agreed.disputed)
        if agreed.prices != self._market.prices:
            self._market.prices = agreed.prices
            observe.prices_read(len(agreed.prices))


class FollowPrices:
    """Ask one source, poll after poll."""

    def __init__(self, source: PriceSource, book: PriceBook, *, name: str, clock: Clock) -> None:
        self._source = source
        self._book = book
        self._name = name
        self._clock = clock

    async def __call__(self) -> None:
        """Read once. Unreadable prices change nothing: the known ones grow old by themselves."""
        try:
            updates = await self._source.find_updates()
        except PricesUnreadable as error:
            observe.prices_unreadable(self._name, str(error))
        else:
            if updates is not None:
                self._book.take(self._name, _not_from_the_future(self._clock(), updates))
        self._book.settle(self._clock())


def _not_from_the_future(
    now: datetime, updates: Mapping[str, TimedValue]
) -> Mapping[str, TimedValue]:
    """Let no price be from later than it was read: it would not grow old while its writer is dead.

    The source of such a time has a clock that is ahead, or a typing error.
    """
    return {
        symbol: price if price.at <= now else TimedValue(price.value, now)
        for symbol, price in updates.items()
    }
