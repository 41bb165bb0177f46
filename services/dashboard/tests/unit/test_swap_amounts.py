"""Amounts of a swap on its page of the console, each in its own token."""

from __future__ import annotations

from typing import Any

import pytest

from swap_dashboard.console.domain.units import Units
from swap_dashboard.console.http.swaps import to_table
from swap_dashboard.console.http.view import NONE, Cell

ETH: dict[str, Any] = {"network": "A", "token": "0x0", "symbol": "ETH", "decimals": 18}
USDC: dict[str, Any] = {"network": "B", "token": "0x1", "symbol": "USDC", "decimals": 6}
COIN: dict[str, Any] = {"network": "B", "token": "0x0", "symbol": "POL", "decimals": 18}
UNITS = Units([ETH, USDC, COIN])
SOURCE = {"network": "A", "token": "0x0"}


def cells(row: dict[str, Any]) -> dict[str, Cell]:
    table = to_table([row], UNITS, source=SOURCE, ledger="#part-3")
    return dict(zip(table.columns, table.rows[0], strict=True))


def a_payment(kind: str, asset: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"kind": kind, "network": asset["network"], "token": asset["token"], **values}


@pytest.mark.parametrize(
    ("kind", "asset", "paid", "charged"),
    [
        ("output", USDC, ("3000", "USDC"), ("1", "ETH")),
        ("refuel", COIN, ("0.000000003", "POL"), ("1", "ETH")),
        ("refund", ETH, ("0.000000003", "ETH"), ("1", "ETH")),
        # A refuel that could not be sent is claimed in the destination's coin.
        ("claim", COIN, ("0.000000003", "POL"), ("1", "POL")),
    ],
)
def test_output_and_refuel_are_charged_in_the_token_of_the_source(
    kind: str, asset: dict[str, Any], paid: tuple[str, str], charged: tuple[str, str]
) -> None:
    row = a_payment(kind, asset, base_units="3000000000", charged_base_units=str(10**18))

    shown = cells(row)

    assert (shown[">Amount"].text.replace(",", ""), shown[">Amount"].unit) == paid
    assert (shown[">Charged"].text, shown[">Charged"].unit) == charged


def test_amounts_lead_to_the_ledger_and_its_postings_nowhere() -> None:
    payment = a_payment("output", USDC, base_units="1")
    posting = {**SOURCE, "account": "custody", "base_units": "1"}

    assert cells(payment)[">Amount"].href == "#part-3"
    assert cells(posting)[">Amount"].href == ""


def test_returned_part_of_a_deposit_is_in_its_own_token() -> None:
    shown = cells({**SOURCE, "base_units": str(10**18), "returned_base_units": str(10**17)})

    assert (shown[">Returned"].text, shown[">Returned"].unit) == ("0.1", "ETH")


@pytest.mark.parametrize(("micros", "text"), [(3_000_500_000, "$3,000.50"), (None, NONE)])
def test_a_payment_is_worth_dollars(micros: int | None, text: str) -> None:
    assert cells(a_payment("output", USDC, usd_micros=micros))[">Worth"].text == text
