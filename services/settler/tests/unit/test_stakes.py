"""The value at stake in an order, and when a second operator must approve it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from swap_settler.operator.decide.stakes import (
    Amount,
    CapLimit,
    dollars,
    second_operator_reason,
    usd_micros_of,
)

DOLLAR = 10**18
COIN, TOKEN = ("A", "ETH"), ("A", "USDC")
PRICES = {COIN: 2_000 * DOLLAR, TOKEN: DOLLAR}
DECIMALS = {COIN: 18, TOKEN: 6}
HOUR = timedelta(hours=1)


def value(*amounts: tuple[tuple[str, str], int]) -> int | None:
    listed = [Amount(*asset, units) for asset, units in amounts]
    return usd_micros_of(listed, prices=PRICES, decimals=DECIMALS)


class TestValue:
    def test_adds_what_is_there_in_micro_dollars(self) -> None:
        assert value((COIN, 10**18), (TOKEN, 5)) == 2_000_000_005

    def test_is_rounded_up(self) -> None:
        assert value((COIN, 1)) == 1

    def test_is_exact_beyond_what_a_float_holds(self) -> None:
        assert value((TOKEN, 10**24 + 1)) == 10**24 + 1

    def test_of_zero_needs_no_price(self) -> None:
        assert value((("B", "DOGE"), 0)) == 0
        assert value((("B", "DOGE"), 0), (TOKEN, 5)) == 5

    @pytest.mark.parametrize("asset", [("A", "DOGE"), ("B", "ETH")])
    def test_is_unknown_where_one_has_no_price(self, asset: tuple[str, str]) -> None:
        assert value((COIN, 1), (asset, 1)) is None

    def test_is_unknown_where_a_price_has_no_decimals(self) -> None:
        amount = Amount(*COIN, 1)

        assert usd_micros_of([amount], prices=PRICES, decimals={}) is None
        assert usd_micros_of([amount], prices={}, decimals=DECIMALS) is None


class TestTheAmount:
    @pytest.mark.parametrize(
        ("at_stake", "is_alone"), [(0, True), (100, True), (101, False), (None, False)]
    )
    def test_one_operator_may_order_up_to_it(self, at_stake: int | None, *, is_alone: bool) -> None:
        assert (second_operator_reason(at_stake, above=100) is None) is is_alone

    def test_is_reported_in_dollars(self) -> None:
        assert second_operator_reason(10**12 + 1, above=10**10) == (
            "$1,000,000.01 are at stake; a second operator approves what is above $10,000.00"
        )
        assert dollars(0) == "$0.00"


class TestACapLimit:
    @pytest.mark.parametrize(
        ("units", "span", "is_raised"),
        [
            (100, HOUR, False),
            (101, HOUR, True),
            (99, HOUR, False),
            (100, HOUR / 2, True),  # twice as much over time
            (50, HOUR / 2, False),
            (101, 2 * HOUR, True),  # less over time, more at once
            (100, 2 * HOUR, False),
        ],
    )
    def test_is_above_another_at_once_or_over_time(
        self, units: int, span: timedelta, *, is_raised: bool
    ) -> None:
        assert CapLimit(units, span).is_above(CapLimit(100, HOUR)) is is_raised
