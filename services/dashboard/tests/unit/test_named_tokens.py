"""Tokens are named by symbol or address, in any case; pages show the symbol."""

from __future__ import annotations

import pytest

from swap_dashboard.console.domain.units import Units
from swap_dashboard.console.http.units import reason_of_queued
from swap_domain.catalogue import NATIVE

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
UNITS = Units(
    [
        {"network": "NET", "token": USDC, "symbol": "USDC", "decimals": 6},
        {"network": "NET", "token": NATIVE, "symbol": "ETH", "decimals": 18},
    ]
)


@pytest.mark.parametrize("text", ["USDC", "usdc", USDC, USDC.lower()])
def test_token_is_found_by_symbol_or_address(text: str) -> None:
    assert UNITS.token("NET", text) == USDC


@pytest.mark.parametrize(("network", "text"), [("OTHER", "USDC"), ("NET", "DAI"), ("NET", "")])
def test_unlisted_token_is_unknown(network: str, text: str) -> None:
    assert UNITS.token(network, text) is None


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (NATIVE, "the cap of ETH has no room for it yet"),
        (USDC, "the cap of USDC has no room for it yet"),
        ("0x1", "the cap of 0x1 has no room for it yet"),  # in no catalogue
    ],
)
def test_the_reason_of_a_withheld_payment_has_the_symbol(token: str, reason: str) -> None:
    row = {"network": "NET", "token": token, "reason": f"the cap of {token} has no room for it yet"}

    assert reason_of_queued(UNITS, row) == reason


def test_an_order_is_confirmed_by_symbol_and_address() -> None:
    assert UNITS.full_name("NET", NATIVE) == f"ETH ({NATIVE})"
    assert UNITS.full_name("NET", "0x1") == "0x1"
