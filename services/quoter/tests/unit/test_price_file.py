from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.quoter.tests.factories import NOW, a_market, a_route
from swap_quoter.adapters.price_file import PriceFile, prices_from
from swap_quoter.domain.agreement import Bounds
from swap_quoter.domain.market import Market, TimedValue, to_usd_e18
from swap_quoter.ports import PricesUnreadable
from swap_quoter.usecases.follow_prices import FollowPrices, PriceBook

WRITTEN_AT = datetime(2026, 1, 1, tzinfo=UTC)


class TestPricesFrom:
    def test_takes_digits_with_the_file_s_age_or_their_own(self) -> None:
        content = b'{"ETH": "3000.5", "USDC": {"usd": "1", "at": "2026-01-02T00:00:00Z"}}'

        prices = prices_from(content, WRITTEN_AT)

        assert prices["ETH"] == TimedValue(3000_500000000000000000, WRITTEN_AT)
        assert prices["USDC"] == TimedValue(10**18, datetime(2026, 1, 2, tzinfo=UTC))

    @pytest.mark.parametrize(
        "content",
        [
            b"[]",
            b"{",
            b'{"ETH": 3000.5}',
            b'{"ETH": "-1"}',
            b'{"ETH": "0"}',
            b'{"ETH": ""}',
            b'{"ETH": "1e3"}',
            b'{"ETH": "1.0000000000000000001"}',
            b'{"ETH": {"usd": "1", "at": "2026-01-02T00:00:00"}}',
            b'{"ETH": {"usd": "1", "at": 1767312000}}',
            b'{"ETH": {"usd": "1", "at": null}}',
        ],
    )
    def test_refuses_an_invalid_price_file(self, content: bytes) -> None:
        with pytest.raises(ValueError):  # noqa: PT011
            prices_from(content, WRITTEN_AT)


class TestPriceFile:
    async def test_is_read_when_it_changes_and_only_then(self, tmp_path: Path) -> None:
        path = tmp_path / "prices.json"
        path.write_text('{"ETH": "3000"}')
        source = PriceFile(path)

        first, again = await source.find_updates(), await source.find_updates()
        path.write_text('{"ETH": "3001"}')
        os.utime(path, ns=(1, 1))
        changed = await source.find_updates()

        assert first is not None
        assert again is None
        assert changed is not None
        assert changed["ETH"].value == to_usd_e18("3001")

    async def test_reports_that_it_cannot_be_read(self, tmp_path: Path) -> None:
        with pytest.raises(PricesUnreadable):
            await PriceFile(tmp_path / "missing.json").find_updates()


def follow_prices(source: PriceFile, market: Market) -> FollowPrices:
    book = PriceBook(market, Bounds(None, 100))
    return FollowPrices(source, book, name="file", clock=lambda: NOW)


class TestFollowPrices:
    async def test_keeps_what_it_knew_while_the_file_is_broken(self, tmp_path: Path) -> None:
        path, market = tmp_path / "prices.json", a_market(prices={})
        path.write_text('{"ETH": "3000"}')
        follow = follow_prices(PriceFile(path), market)

        await follow()
        path.write_text('{"ETH"')
        await follow()

        assert market.prices["ETH"].value == to_usd_e18("3000")

    async def test_takes_the_repaired_file(self, tmp_path: Path) -> None:
        path, market = tmp_path / "prices.json", a_market(prices={})
        follow = follow_prices(PriceFile(path), market)

        path.write_text("broken")
        await follow()
        path.write_text('{"ETH": "1"}')
        await follow()

        assert market.prices["ETH"].value == to_usd_e18("1")

    @pytest.mark.parametrize("is_of_the_file", [False, True])
    async def test_a_future_time_does_not_extend_the_age_of_a_price(
        self, tmp_path: Path, is_of_the_file: bool
    ) -> None:
        path, now, ahead = tmp_path / "prices.json", [NOW], NOW + timedelta(days=1)
        path.write_text(f'{{"ETH": {{"usd": "3000", "at": "{ahead.isoformat()}"}}}}')
        if is_of_the_file:
            path.write_text('{"ETH": "3000"}')
            os.utime(path, (ahead.timestamp(), ahead.timestamp()))
        market = a_market(prices={})
        book = PriceBook(market, Bounds(market.prices_max_age, 100))
        follow = FollowPrices(PriceFile(path), book, name="file", clock=lambda: now[0])
        token = a_route().source_native

        await follow()
        at_once = market.find_price(token, now=now[0])
        now[0] += timedelta(seconds=61)
        await follow()

        assert (at_once, market.find_price(token, now=now[0])) == (to_usd_e18("3000"), None)
