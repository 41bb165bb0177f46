"""The sums on a swap's page: requested and received, quoted and delivered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

ANSWER: Final = "raw"  # the part of the page with the api's answer
WAITING: Final = "user_transfer_pending"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deposited:
    """A deposit in parts: what the swap was created for, and what came so far."""

    requested: Decimal
    received: Decimal
    missing: Decimal


@dataclass(frozen=True, slots=True)
class Delivered:
    """What was paid out against the quote."""

    amount: Decimal
    token: Row
    difference: Decimal
    is_below_least: bool


def deposited_of(swap: Row) -> Deposited | None:
    """Return what is missing of a swap that was paid in part; None of every other."""
    requested = Decimal(str(swap["requested_amount"] or 0))
    received = sum_of(of_type(swap, "input"), "amount")
    if swap["status"] != WAITING or not received or received >= requested:
        return None
    return Deposited(requested, received, requested - received)


def delivered_of(swap: Row, quote: Row) -> Delivered | None:
    """Return what was paid out; None before a payout."""
    outputs = of_type(swap, "output")
    amount = sum_of(outputs, "amount")
    if amount is None:
        return None
    return Delivered(
        amount,
        outputs[0]["token"],
        amount - Decimal(str(quote["receive_amount"])),
        amount < Decimal(str(quote["min_receive_amount"])),
    )


def refund_fees_of(swap: Row) -> Sequence[Row]:
    """Return the refunds that gas was deducted from."""
    return [one for one in of_type(swap, "refund") if one["fee_amount"] is not None]


def made_of(swap: Row, ledger: Sequence[Row]) -> dict[str, str]:
    """Return the part of the page that each figure is made of: an entry, or a transaction.

    What is not booked yet stands in the quote, in the API's answer.
    """
    is_paid = sum_of(of_type(swap, "input"), "amount") == Decimal(
        str(swap["requested_amount"] or 0)
    )
    return {
        "requested": _part_with(swap, "input") if is_paid else ANSWER,
        "quote": _entry_with(ledger, "position") or ANSWER,
        "fees": _entry_with(ledger, "fee_income") or ANSWER,
        "refund_fees": _entry_with(ledger, "gas_recovered") or "transactions",
        "delivered": _part_with(swap, "output"),
    }


def _part_with(swap: Row, kind: str) -> str:
    """Return where the transactions of one type stand: a row, or the table of several."""
    numbers = [n for n, one in enumerate(swap["transactions"], start=1) if one["type"] == kind]
    if not numbers:
        return ANSWER
    return f"transaction-{numbers[0]}" if len(numbers) == 1 else "transactions"


def _entry_with(ledger: Sequence[Row], account: str) -> str | None:
    """Return the first entry that changes an account."""
    entries = (e for e in ledger if any(p["account"] == account for p in e["postings"]))
    found = next(entries, None)
    return None if found is None else f"entry-{found['id']}"


def is_unconfirmed(swap: Row) -> bool:
    """Whether confirmations of a transaction are still counted."""
    return any(one["status"] != "completed" for one in swap["transactions"])


def with_sums(entries: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the ledger's entries, each with whether its postings add up to zero."""
    return [{**entry, "is_balanced": _is_balanced(entry["postings"])} for entry in entries]


def _is_balanced(postings: Sequence[Row]) -> bool:
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for posting in postings:
        sums[posting["network"], posting["token"]] += int(posting["amount_in_base_units"])
    return not any(sums.values())


def of_type(swap: Row, kind: str) -> Sequence[Row]:
    """Return a swap's transactions of one type."""
    return [one for one in swap["transactions"] if one["type"] == kind]


def sum_of(transactions: Sequence[Row], member: str) -> Decimal | None:
    """Return the sum of an amount; None where no transaction has it."""
    amounts = [Decimal(str(one[member])) for one in transactions if one[member] is not None]
    return sum(amounts, Decimal(0)) if amounts else None
