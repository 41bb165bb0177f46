"""The figures on the page of one swap."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from swap_dashboard.http.ledger_names import with_names
from swap_dashboard.http.swap_view import (
    Figure,
    Refund,
    delivered_of,
    figures_of,
    partial_deposit_of,
    progress_of,
    refund_fees_of,
    refund_fees_part,
    refunds_of,
    repriced_of,
    reversal_part,
    senders_of,
    share_of,
    under_way_of,
    with_new_prices,
    with_sums,
)

QUOTE = {
    "requested_amount": 1.0,
    "receive_amount": 100.1,
    "min_receive_amount": 99.0,
    "service_fee": 0.0001,
    "blockchain_fee": 0.00000002,
    "total_fee": 0.00010002,
}
E18 = 10**18
AT = "2026-01-01T00:00:00Z"


def a_swap(
    *transactions: tuple[str, float], status: str = "user_transfer_pending", **changes: Any
) -> Any:
    moved = [
        {
            "type": kind,
            "amount": amount,
            "status": changes.get("of_all", "completed"),
            "from": f"0x{kind}",
            "to": f"0xto_{kind}",
            "token": {"symbol": "USDC"},
            "fee_amount": None,
        }
        for kind, amount in transactions
    ]
    return {
        "status": status,
        "requested_amount": 1.0,
        "transactions": moved,
        "source_token": {"symbol": "ETH", "precision": 8},
        "destination_token": {"symbol": "USDC"},
        "source_address": None,
        "quote_revision": 0,
        "last_requoted_at": None,
        **changes,
    }


def a_quote(revision: int = 0, *, requested: int = E18, receive: int = 100_100_001) -> Any:
    return {
        "revision": revision,
        "source_decimals": 18,
        "destination_decimals": 6,
        "requested_in_base_units": str(requested),
        "receive_in_base_units": str(receive),
        "min_receive_in_base_units": "99000000",
        "service_fee_in_base_units": "100000000000000",
        "blockchain_fee_in_base_units": "14354000000",
        "total_fee_in_base_units": "100014354000000",
    }


def an_entry(id: str, reason: str, **moved: int) -> Any:
    postings = [
        {"account": account, "amount_in_base_units": str(units), "network": "N", "token": "T"}
        for account, units in moved.items()
    ]
    return {"id": id, "reason": reason, "network": "N", "postings": postings}


EXECUTED = an_entry("quote", "quote_executed", swap_liability=E18, fee_income=-100_014_354_000_000)
PAID = an_entry("paid", "payout_final", in_flight=100_100_001, custody=-100_100_001)


def test_partial_deposit_has_a_missing_amount() -> None:
    found = partial_deposit_of(a_swap(("input", 0.1), ("input", 0.2)))

    assert found is not None
    assert (found.requested, found.received, found.missing) == (
        Decimal(1),
        Decimal("0.3"),
        Decimal("0.7"),
    )


@pytest.mark.parametrize(
    "swap",
    [a_swap(), a_swap(("input", 1.0)), a_swap(("input", 0.5), status="ls_transfer_pending")],
)
def test_swap_without_a_partial_deposit_has_no_missing_amount(swap: Any) -> None:
    assert partial_deposit_of(swap) is None


class TestDelivered:
    def test_is_the_sum_of_final_payouts(self) -> None:
        found = delivered_of(a_swap(("output", 60.05), ("output", 38.0)), QUOTE, [], [])

        assert found is not None
        assert found.amount == Figure("98.05", "USDC", "transactions")
        assert found.difference.text == "-2.05"
        assert found.is_below_least

    @pytest.mark.parametrize("status", ["pending", "initiated"])
    def test_is_nothing_while_a_payout_is_under_way(self, status: str) -> None:
        swap = a_swap(("output", 100.1), status="ls_transfer_pending", of_all=status)

        assert delivered_of(swap, QUOTE, [a_quote()], [PAID]) is None
        assert under_way_of(swap) == [Figure("100.1", "USDC", "transaction-1")]

    @pytest.mark.parametrize(
        ("status", "is_shown"), [("failed", True), ("expired", False), ("refunded", False)]
    )
    def test_payout_under_way_is_shown_only_for_a_failed_swap(
        self, status: str, *, is_shown: bool
    ) -> None:
        swap = a_swap(("output", 100.1), status=status, of_all="initiated")

        assert bool(under_way_of(swap)) is is_shown

    def test_is_nothing_before_a_payout(self) -> None:
        assert delivered_of(a_swap(("input", 1.0)), QUOTE, [], []) is None
        assert under_way_of(a_swap(("input", 1.0))) == []

    def test_has_all_digits_of_the_entry_that_books_it(self) -> None:
        quotes = [a_quote(receive=100_100_002)]
        found = delivered_of(a_swap(("output", 100.1)), QUOTE, quotes, [EXECUTED, PAID])

        assert found is not None
        assert found.amount == Figure("100.100001", "USDC", "entry-paid")
        assert found.difference == Figure("-0.000001", "USDC")


class TestProgress:
    @pytest.mark.parametrize(
        ("swap", "words"),
        [
            (a_swap(), None),
            (a_swap(("input", 1.0), of_all="initiated"), "Deposit seen, confirming"),
            (a_swap(("input", 0.1)), "Deposit confirmed"),
            (a_swap(("input", 1.0), status="ls_transfer_pending"), "Payout follows"),
            (
                a_swap(("output", 1.0), status="ls_transfer_pending", of_all="pending"),
                "Payout in preparation",
            ),
            (
                a_swap(("output", 1.0), status="ls_transfer_pending", of_all="initiated"),
                "Payout sent, confirming",
            ),
            (
                a_swap(("output", 1.0), status="ls_transfer_pending"),
                "Payout confirmed, the rest follows",  # a refuel
            ),
            (a_swap(("input", 1.0), status="pending_refund"), "Refund follows"),
            (a_swap(("refund", 0.1), status="pending_refund"), "Refund follows"),  # another leg's
            (
                a_swap(("refund", 1.0), status="pending_refund", of_all="initiated"),
                "Refund sent, confirming",
            ),
            (a_swap(("output", 1.0), status="completed"), None),
        ],
    )
    def test_names_the_step_within_a_status(self, swap: Any, words: str | None) -> None:
        assert progress_of(swap) == words


class TestFigures:
    def test_have_all_digits_and_link_to_entries_with_the_same_amount(self) -> None:
        found = figures_of(a_swap(), QUOTE, [a_quote()], [EXECUTED, PAID])

        assert found == {
            "requested": Figure("1", "ETH", "entry-quote"),
            "quoted": Figure("100.100001", "USDC"),
            "least": Figure("99", "USDC"),
            "service_fee": Figure("0.0001", "ETH"),
            "network_fee": Figure("0.000000014354", "ETH"),
            "all_fees": Figure("0.000100014354", "ETH", "entry-quote"),
        }

    def test_link_to_no_entry_with_another_amount(self) -> None:
        ledger = [an_entry("other", "quote_executed", swap_liability=E18 - 1, fee_income=-1)]

        found = figures_of(a_swap(), QUOTE, [a_quote()], ledger)

        assert {one.part for one in found.values()} == {None}

    @pytest.mark.parametrize("quotes", [[], [a_quote(revision=1)]])
    def test_are_the_rounded_amounts_without_a_stored_quote(self, quotes: Any) -> None:
        found = figures_of(a_swap(), QUOTE, quotes, [EXECUTED])

        assert found["network_fee"] == Figure("0.00000002", "ETH")
        assert found["all_fees"].part is None


class TestNewPrices:
    def test_show_the_first_quote_and_the_deposited_share(self) -> None:
        quotes = [a_quote(), a_quote(1, requested=6 * 10**17, receive=60_000_000)]

        found = repriced_of(a_swap(("input", 0.6), quote_revision=1), quotes)

        assert found is not None
        assert (found.requested.text, found.quoted.text) == ("1", "100.100001")
        assert (found.deposited, found.share) == (Figure("0.6", "ETH", "transaction-1"), "60")

    def test_have_no_share_of_a_late_full_deposit(self) -> None:
        swap = a_swap(("input", 1.0), quote_revision=1)

        found = repriced_of(swap, [a_quote(), a_quote(1, receive=1)])

        assert found is not None
        assert (found.deposited, found.share, found.is_late) == (None, None, True)

    @pytest.mark.parametrize(
        ("deposits", "units"),
        [
            ([("input", 1.0)], 99 * 10**16),  # a refuel that could not be bought was dropped
            ([("input", 0.6), ("input", 0.4)], 6 * 10**17),  # the rest came later
            ([("input", 1.5)], 15 * 10**17),
            ([("input", 0.59999999), ("input", 0.4)], E18),  # each was cut off
            ([], 6 * 10**17),  # the chain reverted it
        ],
    )
    def test_have_no_share_of_a_deposit_that_may_be_the_whole(
        self, deposits: list[tuple[str, float]], units: int
    ) -> None:
        quotes = [a_quote(), a_quote(1, requested=units)]

        found = repriced_of(a_swap(*deposits, quote_revision=1), quotes)

        assert found is not None
        assert (found.deposited, found.share) == (None, None)
        assert found.is_late == (units == E18)

    def test_have_a_share_of_final_deposits_alone(self) -> None:
        swap = a_swap(("input", 0.6), quote_revision=1)
        unconfirmed = {**swap["transactions"][0], "amount": 0.4, "status": "initiated"}
        swap["transactions"].insert(0, unconfirmed)

        found = repriced_of(swap, [a_quote(), a_quote(1, requested=6 * 10**17)])

        assert found is not None
        assert (found.deposited, found.share) == (Figure("0.6", "ETH", "transaction-2"), "60")

    @pytest.mark.parametrize(
        ("revision", "quotes"),
        [
            (0, [a_quote()]),
            (0, []),
            (1, [a_quote(1)]),
            (1, [a_quote(requested=0), a_quote(1)]),
            (0, [a_quote(), a_quote(1)]),
        ],
    )
    def test_are_absent_for_the_first_quote_and_for_an_unknown_one(
        self, revision: int, quotes: Any
    ) -> None:
        assert repriced_of(a_swap(quote_revision=revision), quotes) is None

    def test_mark_the_event_that_accepted_one(self) -> None:
        events = [{"at": "2025-12-31T00:00:00Z"}, {"at": "2026-01-01T00:00:00+00:00"}]

        shown = with_new_prices(events, a_swap(last_requoted_at=AT))

        assert [one["is_repriced"] for one in shown] == [False, True]

    @pytest.mark.parametrize(
        ("part", "whole", "share"),
        [(6, 10, "60"), (1, 3, "≈ 33.3"), (1, 10**9, "≈ 0")],
    )
    def test_have_a_share_in_percent(self, part: int, whole: int, share: str) -> None:
        assert share_of(part, whole) == share


def test_a_swap_without_an_address_comes_from_the_senders_of_its_deposits() -> None:
    assert senders_of(a_swap(("input", 1.0), ("input", 2.0), ("output", 1.0))) == ["0xinput"]
    assert senders_of(a_swap(("input", 1.0), source_address="0xown")) == ["0xown"]
    assert senders_of(a_swap()) == []


@pytest.mark.parametrize("is_final", [True, False])
def test_a_refund_has_its_recipient(*, is_final: bool) -> None:
    status = "completed" if is_final else "initiated"
    found = refunds_of(a_swap(("input", 1.0), ("refund", 0.9), of_all=status))

    assert found == [Refund(Figure("0.9", "USDC", "transaction-2"), "0xto_refund", is_final)]


def test_fees_of_a_reversed_quote_are_not_charged_unless_another_is_executed() -> None:
    reversed_quote = an_entry("back", "quote_reversed", swap_liability=-E18, fee_income=5)

    assert reversal_part([]) is None
    assert reversal_part([EXECUTED]) is None
    assert reversal_part([EXECUTED, reversed_quote, PAID]) == "entry-back"
    assert reversal_part([EXECUTED, reversed_quote, EXECUTED]) is None


def test_refund_without_a_fee_is_not_listed_as_a_fee() -> None:
    assert refund_fees_of(a_swap(("refund", 1.0))) == []


def test_the_fee_of_a_refund_leads_to_its_entry() -> None:
    assert refund_fees_part([EXECUTED]) == "transactions"
    assert refund_fees_part([an_entry("cost", "refund_cost", gas_recovered=-1)]) == "entry-cost"


@pytest.mark.parametrize(("units", "is_balanced"), [("-5", True), ("-4", False)])
def test_postings_add_up_to_zero_in_each_token(units: str, *, is_balanced: bool) -> None:
    large = 10**30
    rows = [("T", str(large)), ("T", str(-large)), ("U", "5"), ("U", units)]
    postings = [
        {"network": "N", "token": token, "amount_in_base_units": amount} for token, amount in rows
    ]

    assert [one["is_balanced"] for one in with_sums([{"postings": postings}])] == [is_balanced]


def test_ledger_entries_have_display_names() -> None:
    entries = [EXECUTED, {**an_entry("new", "some_reason", some_account=1), "network": None}]

    known, new = with_names(entries, {"N": "Network"})

    assert (known["name"], known["network_name"]) == ("Quote executed", "Network")
    assert known["postings"][0]["account_name"] == "Owed for this swap"
    assert (new["name"], new["network_name"]) == ("Some reason", None)
    assert new["postings"][0]["account_name"] == "Some account"
