"""Amounts with all their digits: parts that are shown add up to the sum that is shown."""

from __future__ import annotations

import pytest

from swap_dashboard.console.domain.units import to_dollars
from swap_dashboard.http.home import fees_of
from swap_dashboard.http.rendering import exact_amount, last_digit, shorten_amount


@pytest.mark.parametrize(
    ("base_units", "decimals", "shown"),
    [
        ("1239999", 6, "1.239999"),
        ("5", 6, "0.000005"),
        ("-1240004", 6, "-1.240004"),
        ("1234567000000", 6, "1,234,567"),
        ("0", 18, "0"),
        ("7", 0, "7"),
        ("1" + "0" * 30 + "1", 18, "10,000,000,000,000.000000000000000001"),
    ],
)
def test_exact_amount_shows_every_digit(base_units: str, decimals: int, shown: str) -> None:
    assert exact_amount(base_units, decimals) == shown


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        ("0", "$0.00"),
        ("1", "$0.000001"),
        ("350000", "$0.35"),
        ("354321", "$0.354321"),
        (500_000, "$0.50"),
        (-20, "-$0.00002"),
        (-2_000_000, "-$2.00"),
        ("1234567100000", "$1,234,567.10"),
    ],
)
def test_dollars_have_cents_and_every_further_digit(micros: str | int, shown: str) -> None:
    assert to_dollars(micros) == shown


@pytest.mark.parametrize(
    ("decimals", "shown"), [(6, "1.240004 USDC"), (None, "1240004 base units of USDC")]
)
def test_home_shows_earnings_with_every_digit(decimals: int | None, shown: str) -> None:
    earned = {"amount": 1.24, "amount_in_base_units": "1240004", "decimals": decimals}
    sums = {"network": "NET", "token": "USDC", "earned": earned}

    assert fees_of("/apps/a", sums)["earned"].shown == shown


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        ("0.12345678", "0.12345678"),
        ("0.123456789", "0.12345678…"),
        ("12,345.6789012", "12,345.67890…"),
        ("19,997,269.40038278", "19,997,269.40…"),
        ("1,234,567,890,123.4567", "1,234,567,890,123.45…"),
        ("20,000,000", "20,000,000"),
        ("0", "0"),
        ("0.000000000000000001", "< 0.00000001"),
        ("-0.000000000000000001", "> -0.00000001"),
    ],
)
def test_a_table_shows_fewer_digits_and_says_so(exact: str, shown: str) -> None:
    assert shorten_amount(exact) == shown


def test_the_last_digit_of_a_token_has_no_exponent() -> None:
    assert [last_digit(precision) for precision in (0, 2, 12)] == ["1", "0.01", "0.000000000001"]
