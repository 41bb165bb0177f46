"""Amounts with all their digits: parts that are shown add up to the sum that is shown."""

from __future__ import annotations

import pytest

from swap_dashboard.http.home import fees_of
from swap_dashboard.http.rendering import exact_amount


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
    ("decimals", "shown"), [(6, "1.240004 USDC"), (None, "1240004 base units of USDC")]
)
def test_home_shows_earnings_with_every_digit(decimals: int | None, shown: str) -> None:
    earned = {"amount": 1.24, "amount_in_base_units": "1240004", "decimals": decimals}
    sums = {"network": "NET", "token": "USDC", "earned": earned}

    assert fees_of("/apps/a", sums)["earned"].shown == shown
