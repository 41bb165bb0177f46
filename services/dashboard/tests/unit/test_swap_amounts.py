"""A swap on its page of the console: amounts in their own tokens, and what explains a payment."""

from __future__ import annotations

from typing import Any

import pytest

from swap_dashboard.console.domain.units import Units
from swap_dashboard.console.http.swaps import to_parts
from swap_dashboard.console.http.view import NONE, Cell

ETH: dict[str, Any] = {"network": "A", "token": "0x0", "symbol": "ETH", "decimals": 18}
USDC: dict[str, Any] = {"network": "B", "token": "0x1", "symbol": "USDC", "decimals": 6}
COIN: dict[str, Any] = {"network": "B", "token": "0x0", "symbol": "POL", "decimals": 18}
UNITS = Units([ETH, USDC, COIN])
LEDGER = "#part-7"
UNSET = (
    *("changed_at", "created_at", "expires_at", "closed_at", "quote_expires_at"),
    *("quote_revision", "last_requoted_at", "quote_locked_at", "sequence_number", "match_key"),
    *("source_address", "destination_address", "refund_address", "app_id", "reference_id"),
    *("trace_id", "fail_reason"),
)
SWAP: dict[str, Any] = {
    **dict.fromkeys(UNSET),
    "status": "ls_transfer_pending",
    "method": "direct",
    "source_network": "A",
    "source_token": "0x0",
    "destination_network": "B",
    "destination_token": "0x1",
    "requested_base_units": str(10**18),
    "payout_base_units": "2999500000",
    "fee_base_units": str(10**15),
    "quote": {"rate": "3000"},
}
LISTS = ("transitions", "deposits", "intents", "attempts", "ledger", "balances", "taken")
PAYMENT: dict[str, Any] = {
    "id": "p1",
    "kind": "output",
    "state": "reserved",
    "network": "B",
    "token": "0x1",
    "base_units": "3000000000",
    "charged_base_units": str(10**18),
    "usd_micros": 3_000_500_000,
    "to_address": "0xaa",
    "transaction_hash": None,
    "failures": 0,
    "ordered_by": None,
    "ordered_because": None,
    "dead_proof": None,
    **dict.fromkeys(("created_at", "due_at", "block_number", "confirmed_at")),
}
ATTEMPT: dict[str, Any] = {
    "intent_id": "p1",
    "network": "B",
    "signer": "0xbb",
    "nonce": 7,
    **dict.fromkeys(("transaction_hash", "is_cancel", "signed_at", "first_sent_at", "closed_at")),
}
DEPOSIT: dict[str, Any] = {
    "id": "d1",
    "state": "credited",
    "network": "A",
    "token": "0x0",
    "base_units": str(10**18),
    "returned_base_units": str(10**17),
    "from_address": None,
    "transaction_hash": None,
    "block_time": None,
}
POSTING: dict[str, Any] = {
    "at": None,
    "kind": "credited",
    "effective_block": 5,
    "account": "custody",
    "network": "A",
    "token": "0x0",
    "base_units": "1",
    "deposit_id": None,
}


def cells(title: str, reasons: dict[str, str] | None = None, **lists: Any) -> dict[str, Cell]:
    """Return the first row of a list of the page, by its columns."""
    content = {**{name: [] for name in LISTS}, **lists}
    parts = to_parts({"swap": SWAP, **content}, UNITS, reasons or {})
    [table] = [part.table for part in parts if part.title == title]
    assert table is not None
    return dict(zip(table.columns, table.rows[0], strict=True))


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
    row = {**PAYMENT, "kind": kind, "network": asset["network"], "token": asset["token"]}

    amount = cells("Payments", intents=[row])[">Amount"]
    charge = cells("Charges and times of payments", intents=[row])[">Charged"]

    assert (amount.text.replace(",", ""), amount.unit) == paid
    assert (charge.text, charge.unit) == charged


def test_amounts_lead_to_the_ledger_and_its_postings_nowhere() -> None:
    parts = to_parts({"swap": SWAP, **{name: [] for name in LISTS}}, UNITS, {})

    assert parts[int(LEDGER.removeprefix("#part-")) - 1].title == "Ledger"
    assert dict(parts[0].facts)["Requested"].href == LEDGER
    assert cells("Payments", intents=[PAYMENT])[">Amount"].href == LEDGER
    assert cells("Ledger", ledger=[POSTING])[">Amount"].href == ""


def test_returned_part_of_a_deposit_is_in_its_own_token() -> None:
    shown = cells("Deposits", deposits=[DEPOSIT])

    assert (shown[">Goes back"].text, shown[">Goes back"].unit) == ("0.1", "ETH")


@pytest.mark.parametrize(("micros", "text"), [(3_000_500_000, "$3,000.50"), (None, NONE)])
def test_a_payment_is_worth_dollars(micros: int | None, text: str) -> None:
    row = {**PAYMENT, "usd_micros": micros}

    assert cells("Charges and times of payments", intents=[row])[">Worth"].text == text


@pytest.mark.parametrize(
    ("is_cancel", "purpose"), [(None, NONE), (False, "pays"), (True, "cancels the nonce")]
)
def test_a_nonce_has_a_purpose_once_something_is_signed_for_it(
    is_cancel: bool | None, purpose: str
) -> None:
    row = {**ATTEMPT, "is_cancel": is_cancel}

    assert cells("Transactions of payments", attempts=[row])["Purpose"].text == purpose


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ({}, NONE),
        ({"failures": 2}, "2 failed"),
        (
            {"ordered_by": "ann", "ordered_because": "her wallet", "dead_proof": {"nonce": 7}},
            'ordered by ann: her wallet; proof: {"nonce": 7}',
        ),
    ],
)
def test_note_says_what_explains_a_payment(values: dict[str, Any], note: str) -> None:
    assert cells("Payments", intents=[{**PAYMENT, **values}])["Note"].text == note


def test_payment_that_a_cap_holds_leads_to_its_place_in_the_queue() -> None:
    shown = cells("Payments", {"p1": "the cap of B is 0"}, intents=[PAYMENT])["Note"]

    assert (shown.text, shown.href) == ("the cap of B is 0", "/payments/queue/p1")
