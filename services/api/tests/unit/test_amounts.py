"""The accepted spellings of numbers."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swap_api.model.refusals import Invalid
from swap_api.swaps.decide.amounts import decimal_text, is_cut, parse_amount, parse_slippage

UNIT = 10**18


class TestParseAmount:
    @pytest.mark.parametrize(
        ("text", "base_units"),
        [
            ("1", UNIT),
            ("1.", UNIT),
            (".5", UNIT // 2),
            ("+2", 2 * UNIT),
            ("0.1", UNIT // 10),
            ("00012.50", 12 * UNIT + UNIT // 2),
            ("1e3", 1000 * UNIT),
            ("1E-8", 10**10),
            ("1.5e1", 15 * UNIT),
            ("1e36", 10**54),
            ("1.1234567890123456789", 112345678 * 10**10),
            ("0.29999999999999998", 29999999 * 10**10),
            ("0.000000009", 0),
            ("1e-30", 0),
            ("0", 0),
            ("0.0", 0),
            ("0e400", 0),
        ],
    )
    def test_keeps_what_the_precision_holds_and_cuts_the_rest(
        self, text: str, base_units: int
    ) -> None:
        assert parse_amount(text, precision=8, decimals=18) == base_units

    @pytest.mark.parametrize(
        "text",
        [
            "1e37", "1e400", "1e9999", "1e99999", "9" * 38, "9" * 101, str(2**256), "NaN", "nan",
            "-0", "Infinity", "-Infinity", "inf", "-1", "-0.1", "0x1", "1_000", "1,5", "1 ", "",
            ".", "e5", "1e", "--1", "+-1", "\u0661", "\uff11", "1\n", "1\x00", "true",
        ],
    )  # fmt: skip
    @pytest.mark.fault("A7")
    def test_a7_refuses_what_is_no_amount(self, text: str) -> None:
        with pytest.raises(Invalid):
            parse_amount(text, precision=8, decimals=18)

    @given(
        number=st.decimals(
            min_value=0, max_value=10**30, allow_nan=False, allow_infinity=False, places=12
        ),
        precision=st.integers(min_value=0, max_value=8),
    )
    @pytest.mark.fault("A7")
    def test_a7_is_the_decimal_cut_off_at_the_precision(
        self, number: Decimal, precision: int
    ) -> None:
        with localcontext(prec=100):
            units = int(number * 10**precision)

        found = parse_amount(str(number), precision=precision, decimals=18)

        assert found == units * 10 ** (18 - precision)

    @given(st.text(max_size=120))
    @pytest.mark.fault("A7")
    def test_a7_never_fails_in_another_way(self, text: str) -> None:
        with suppress(Invalid):
            assert parse_amount(text, precision=8, decimals=18) >= 0


class TestIsCut:
    @pytest.mark.parametrize(
        "text", ["1.123456789", "0.000000009", "1e-9", "0.5000000001", "12e-10"]
    )
    def test_where_digits_exceed_the_precision(self, text: str) -> None:
        assert is_cut(text, precision=8)

    @pytest.mark.parametrize(
        "text", ["1", "1.", ".5", "1.1234567800", "1e-8", "1e36", "0e-99", "0"]
    )
    def test_not_where_they_are_zeros_or_none(self, text: str) -> None:
        assert not is_cut(text, precision=8)


class TestDecimalText:
    @pytest.mark.parametrize(
        ("base_units", "text"),
        [(0, "0"), (UNIT, "1"), (1, "0.000000000000000001"), (UNIT + UNIT // 4, "1.25")],
    )
    def test_is_exact(self, base_units: int, text: str) -> None:
        assert decimal_text(base_units, 18) == text


class TestParseSlippage:
    @pytest.mark.parametrize(
        ("text", "ppm"),
        [("0.0025", 2500), ("2.5e-3", 2500), ("0", 0), ("0.7999999", 799999), (".01", 10000)],
    )
    def test_reads_a_fraction(self, text: str, ppm: int) -> None:
        assert parse_slippage(text) == ppm

    @pytest.mark.parametrize("text", ["0.8", "1", "80", "-0.1", "1e400"])
    def test_refuses_a_slippage_of_almost_everything(self, text: str) -> None:
        with pytest.raises(Invalid):
            parse_slippage(text)

    def test_names_the_bound(self) -> None:
        with pytest.raises(Invalid, match=r"below 0\.8"):
            parse_slippage("0.8")
