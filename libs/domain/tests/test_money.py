from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swap_domain.money import (
    Amount,
    AmountUnderflow,
    Asset,
    AssetMismatch,
    Rounding,
    convert,
)

USDC = Asset("ETHEREUM_DEVNET", "0x0000000000000000000000000000000000000005", 6)
DAI = Asset("ETHEREUM_DEVNET", "0x0000000000000000000000000000000000000006", 18)
UINT256 = st.integers(min_value=0, max_value=2**256 - 1)


class TestAmount:
    @pytest.mark.parametrize("wrong", [1.0, True, "1", Decimal(1)])
    def test_takes_integers_only(self, wrong: object) -> None:
        with pytest.raises(TypeError):
            Amount(USDC, wrong)  # type: ignore[arg-type]

    def test_refuses_to_go_below_zero(self) -> None:
        with pytest.raises(AmountUnderflow):
            Amount(USDC, 1) - Amount(USDC, 2)

    def test_refuses_to_mix_assets(self) -> None:
        with pytest.raises(AssetMismatch):
            Amount(USDC, 1) + Amount(DAI, 1)

    @given(UINT256, UINT256)
    @pytest.mark.fault("M1")
    def test_adds_and_subtracts_exactly_at_any_size(self, one: int, other: int) -> None:
        total = Amount(DAI, one) + Amount(DAI, other)

        assert total.base_units == one + other
        assert (total - Amount(DAI, other)).base_units == one

    @given(UINT256, st.integers(min_value=0, max_value=10_000))
    @pytest.mark.fault("M2")
    def test_fee_and_remainder_sum_to_the_amount(self, units: int, bps: int) -> None:
        amount = Amount(DAI, units)
        fee = amount.take(basis_points=bps, rounding=Rounding.UP)

        assert (fee + (amount - fee)) == amount
        assert fee.base_units * 10_000 >= units * bps

    @given(UINT256)
    def test_prints_every_digit(self, units: int) -> None:
        assert int(Amount(DAI, units).to_decimal().scaleb(18)) == units or units >= 10**28


class TestConvert:
    @given(
        UINT256,
        st.integers(min_value=1, max_value=10**40),
        st.integers(min_value=1, max_value=10**40),
    )
    @pytest.mark.fault("M1", "M2")
    def test_rounds_in_the_given_direction_by_less_than_one(
        self, units: int, numerator: int, denominator: int
    ) -> None:
        rate = {"numerator": numerator, "denominator": denominator}
        down = convert(units, **rate, rounding=Rounding.DOWN)
        up = convert(units, **rate, rounding=Rounding.UP)

        assert down * denominator <= units * numerator <= up * denominator
        assert up - down in (0, 1)
