"""Takes over what the price source says, whenever it changes."""

from __future__ import annotations

from swap_quoter import observe
from swap_quoter.domain.market import Market
from swap_quoter.ports import PriceSource, PricesUnreadable


class FollowPrices:
    def __init__(self, source: PriceSource, market: Market) -> None:
        self._source = source
        self._market = market

    async def __call__(self) -> None:
        """Read once. Unreadable prices change nothing: the known ones grow old by themselves."""
        try:
            news = await self._source.find_news()
        except PricesUnreadable as error:
            observe.prices_unreadable(str(error))
            return
        if news is not None:
            self._market.prices = news
            observe.prices_read(len(news))
