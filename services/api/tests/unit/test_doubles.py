"""A double in an answer never changes a displayed amount."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swap_api.swaps.decide.amounts import parse_amount
from swap_contracts.public.doubles import amount_down

TOKENS_MAX = 10_000_000  # of a token with eight shown decimals: fifteen digits


@given(
    decimals=st.sampled_from([6, 8, 18]),
    precision=st.integers(min_value=0, max_value=8),
    data=st.data(),
)
@pytest.mark.fault("A14")
def test_a14_an_amount_survives_the_double_that_shows_it(
    decimals: int, precision: int, data: st.DataObject
) -> None:
    precision = min(precision, decimals)
    shown_units = data.draw(st.integers(min_value=0, max_value=TOKENS_MAX * 10**precision - 1))
    base_units = shown_units * 10 ** (decimals - precision)

    text = json.dumps(amount_down(base_units, decimals=decimals, precision=precision))

    assert Decimal(text) * 10**decimals == base_units
    assert parse_amount(text, precision=precision, decimals=decimals) == base_units
