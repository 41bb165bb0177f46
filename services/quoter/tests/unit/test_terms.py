from __future__ import annotations

from datetime import timedelta

import pytest

from services.quoter.tests.factories import ETHEREUM, GWEI, NOW, a_market, a_route
from swap_quoter.domain.market import TimedValue, to_usd_e18
from swap_quoter.domain.refusals import RateUnknown
from swap_quoter.domain.terms import TermsBook

ROUTE = a_route()


class TestTermsBook:
    def test_works_them_out_once(self) -> None:
        book = TermsBook(a_market(), refuel_usd_e18=10**18)

        first = book.get(ROUTE, refuel=False, now=NOW)

        assert book.get(ROUTE, refuel=False, now=NOW) is first
        assert book.get(ROUTE, refuel=True, now=NOW) is not first

    @pytest.mark.parametrize("part", ["prices", "gas", "inventory"])
    def test_sees_every_part_move(self, part: str) -> None:
        market = a_market()
        book = TermsBook(market, refuel_usd_e18=10**18)
        first = book.get(ROUTE, refuel=False, now=NOW)

        if part == "prices":
            market.prices = {**market.prices, "ETH": TimedValue(to_usd_e18("6000"), NOW)}
        elif part == "gas":
            market.gas = {**market.gas, ETHEREUM: TimedValue(40 * GWEI, NOW)}
        else:
            market.inventory = {}

        assert book.get(ROUTE, refuel=False, now=NOW) != first

    @pytest.mark.parametrize("seconds", [31, 61])
    def test_end_when_the_first_part_is_too_old(self, seconds: int) -> None:
        market = a_market()
        later = NOW + timedelta(seconds=seconds)
        book = TermsBook(market, refuel_usd_e18=10**18)
        book.get(ROUTE, refuel=False, now=NOW)
        if seconds > 60:  # then only the prices are too old
            market.gas = {
                name: TimedValue(known.value, later) for name, known in market.gas.items()
            }

        with pytest.raises(RateUnknown):
            book.get(ROUTE, refuel=False, now=later)

    def test_last_as_long_as_the_gas_where_prices_never_expire(self) -> None:
        market = a_market()
        market.prices_max_age = None
        book = TermsBook(market, refuel_usd_e18=10**18)

        first = book.get(ROUTE, refuel=False, now=NOW)

        assert book.get(ROUTE, refuel=False, now=NOW + market.gas_max_age) is first
