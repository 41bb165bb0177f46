"""The sums on the page of one swap."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from swap_dashboard.http.swap_view import (
    delivered_of,
    deposited_of,
    made_of,
    refund_fees_of,
    with_sums,
)

QUOTE = {"receive_amount": 100.1, "min_receive_amount": 99.0}


def a_swap(*transactions: tuple[str, float], status: str = "user_transfer_pending") -> Any:
    moved = [
        {"type": kind, "amount": amount, "token": {"symbol": "USDC"}, "fee_amount": None}
        for kind, amount in transactions
    ]
    return {"status": status, "requested_amount": 1.0, "transactions": moved}


def test_a_part_lacks_the_rest() -> None:
    found = deposited_of(a_swap(("input", 0.1), ("input", 0.2)))

    assert found is not None
    assert (found.requested, found.received, found.missing) == (1, Decimal("0.3"), Decimal("0.7"))


@pytest.mark.parametrize(
    "swap",
    [a_swap(), a_swap(("input", 1.0)), a_swap(("input", 0.5), status="ls_transfer_pending")],
)
def test_nothing_is_missing_of_any_other_swap(swap: Any) -> None:
    assert deposited_of(swap) is None


def test_all_payouts_count_against_the_quote() -> None:
    found = delivered_of(a_swap(("output", 60.05), ("output", 38.0)), QUOTE)

    assert found is not None
    assert (found.amount, found.difference) == (Decimal("98.05"), Decimal("-2.05"))
    assert found.is_below_least


def test_nothing_is_delivered_before_a_payout() -> None:
    assert delivered_of(a_swap(("input", 1.0)), QUOTE) is None


def test_a_refund_without_a_fee_is_no_fee() -> None:
    assert refund_fees_of(a_swap(("refund", 1.0))) == []


@pytest.mark.parametrize(("units", "is_balanced"), [("-5", True), ("-4", False)])
def test_postings_add_up_to_zero_in_each_token(units: str, *, is_balanced: bool) -> None:
    large = 10**30
    rows = [("T", str(large)), ("T", str(-large)), ("U", "5"), ("U", units)]
    postings = [
        {"network": "N", "token": token, "amount_in_base_units": amount} for token, amount in rows
    ]

    assert [one["is_balanced"] for one in with_sums([{"postings": postings}])] == [is_balanced]


def an_entry(id: str, *accounts: str) -> Any:
    return {"id": id, "postings": [{"account": account} for account in accounts]}


def test_figures_lead_to_what_was_booked_and_paid() -> None:
    swap = a_swap(("input", 1.0), ("output", 2.0))
    ledger = [
        an_entry("deposit", "custody", "swap_liability"),
        an_entry("quote", "swap_liability", "position", "fee_income"),
        an_entry("refund", "swap_liability", "gas_recovered"),
    ]

    assert made_of(swap, ledger) == {
        "requested": "transaction-1",
        "quote": "entry-quote",
        "fees": "entry-quote",
        "refund_fees": "entry-refund",
        "delivered": "transaction-2",
    }


def test_figures_lead_to_the_answer_before_anything_is_booked() -> None:
    found = made_of(a_swap(), [])

    assert {found[name] for name in ("requested", "quote", "fees", "delivered")} == {"raw"}


def test_a_sum_of_several_transactions_leads_to_their_table() -> None:
    swap = a_swap(("input", 0.4), ("input", 0.6), ("output", 2.0), ("output", 1.0))

    found = made_of(swap, [])

    assert (found["requested"], found["delivered"]) == ("transactions", "transactions")


def test_what_was_requested_is_not_made_of_a_part_of_it() -> None:
    assert made_of(a_swap(("input", 0.4)), [])["requested"] == "raw"
