"""An operator names a token as the settler does: by its symbol or address, in any case."""

from __future__ import annotations

import pytest

from swap_dashboard.console.domain.units import Units

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
UNITS = Units([{"network": "NET", "token": USDC, "symbol": "USDC", "decimals": 6}])


@pytest.mark.parametrize("text", ["USDC", "usdc", USDC, USDC.lower()])
def test_a_listed_token_is_found(text: str) -> None:
    assert UNITS.token("NET", text) == USDC


@pytest.mark.parametrize(("network", "text"), [("OTHER", "USDC"), ("NET", "DAI"), ("NET", "")])
def test_another_is_unknown(network: str, text: str) -> None:
    assert UNITS.token(network, text) is None
