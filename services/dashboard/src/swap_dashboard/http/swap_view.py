"""The figures on a swap's page: what was asked, quoted, delivered and charged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from swap_dashboard.http.rendering import amount, exact_amount, to_moment

WAITING: Final = "user_transfer_pending"
ENDS: Final = ("completed", "failed", "expired", "refunded")
TENTH: Final = Decimal("0.1")
# The figures of a quote: its name here, in the api's answer, and in the list of quotes. Then
# whether it is in the source token, and the account of the ledger that has it.
FIGURES: Final = (
    ("requested", "requested_amount", "requested_in_base_units", True, "swap_liability"),
    ("quoted", "receive_amount", "receive_in_base_units", False, "swap_liability"),
    ("least", "min_receive_amount", "min_receive_in_base_units", False, None),
    ("service_fee", "service_fee", "service_fee_in_base_units", True, None),
    ("network_fee", "blockchain_fee", "blockchain_fee_in_base_units", True, None),
    ("all_fees", "total_fee", "total_fee_in_base_units", True, "fee_income"),
)
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """An amount with all of its digits, and the part of the page that has exactly it."""

    text: str
    symbol: str
    part: str | None = None


@dataclass(frozen=True, slots=True)
class PartialDeposit:
    """A deposit in parts: what the swap was created for, and what came so far."""

    requested: Decimal
    received: Decimal
    missing: Decimal


@dataclass(frozen=True, slots=True)
class DeliveredAmount:
    """What final payouts have brought, against the quote."""

    amount: Figure
    difference: Figure
    is_below_least: bool


@dataclass(frozen=True, slots=True)
class Refund:
    """What is sent back, after the gas of the refund."""

    amount: Figure
    recipient: str | None
    is_final: bool


@dataclass(frozen=True, slots=True)
class ReplacedQuote:
    """The first quote of a swap whose money differed from it, or came late."""

    requested: Figure
    quoted: Figure
    deposited: Figure | None  # less than what was asked; None where it is not less for certain
    share: str | None  # of it, in percent
    is_late: bool  # the present quote is for the same amount: only time replaced the first one


def partial_deposit_of(swap: Row) -> PartialDeposit | None:
    """Return what is missing of a swap that was paid in part; None of every other."""
    requested = Decimal(str(swap["requested_amount"] or 0))
    received = sum_of(of_type(swap, "input"), "amount")
    if swap["status"] != WAITING or not received or received >= requested:
        return None
    return PartialDeposit(requested, received, requested - received)


def progress_of(swap: Row) -> str | None:
    """Return what is under way within a status; None where the status says it all."""
    match swap["status"]:
        case "user_transfer_pending":
            deposits = of_type(swap, "input")
            if not deposits:
                return None
            return "Deposit confirmed" if are_final(deposits) else "Deposit seen, confirming"
        case "ls_transfer_pending":
            # A refuel that is not sent yet keeps the status after a final payout.
            when_final = "Payout confirmed, the rest follows"
            return _payment_progress("Payout", of_type(swap, "output"), when_final)
        case "pending_refund":
            # A final refund is of a separate leg: the main leg's own would end the status.
            return _payment_progress("Refund", of_type(swap, "refund"), "Refund follows")
        case _:
            return None


def figures_of(swap: Row, quote: Row, quotes: Sequence[Row], ledger: Sequence[Row]) -> Any:
    """Return the figures of the present quote by their names.

    They are exact where the list of quotes has it. The api's answer alone is cut off, or rounded up
    for fees, at the token's precision.
    """
    exact = _present_quote(swap, quotes)
    return {
        name: Figure(amount(quote[member]), _token(swap, is_source=is_source)["symbol"])
        if exact is None
        else _exact_figure(swap, exact, units, ledger, is_source=is_source, account=account)
        for name, member, units, is_source, account in FIGURES
    }


def repriced_of(swap: Row, quotes: Sequence[Row]) -> ReplacedQuote | None:
    """Return what was quoted first; None where that quote holds, or is not known."""
    present = _present_quote(swap, quotes)
    if present is None or quotes[0]["revision"] != 0 or present["revision"] == 0:
        return None
    first = quotes[0]
    units = int(first["requested_in_base_units"])
    if not units:
        return None  # it was for any amount
    requested = Decimal(units).scaleb(-first["source_decimals"])
    deposited = final_deposits_below(swap, requested)
    return ReplacedQuote(
        _exact_figure(swap, first, "requested_in_base_units", is_source=True),
        _exact_figure(swap, first, "receive_in_base_units", is_source=False),
        None if deposited is None else _deposited_figure(swap, deposited),
        None if deposited is None else share_of(deposited, requested),
        is_late=int(present["requested_in_base_units"]) == units,
    )


def final_deposits_below(swap: Row, requested: Decimal) -> Decimal | None:
    """Return the sum of final deposits; None where there are none, or it may be all of an amount.

    The amount of the present quote is not that sum: without a refuel the quote is for less, and
    deposits after it go back. The api cuts deposits off at the token's precision, so each may be
    one last digit more.
    """
    final = _final(of_type(swap, "input"))
    deposited = sum_of(final, "amount")
    if deposited is None:
        return None
    last_digit = Decimal(1).scaleb(-int(swap["source_token"]["precision"]))
    return deposited if deposited + len(final) * last_digit <= requested else None


def share_of(part: int | Decimal, whole: int | Decimal) -> str:
    """Return a part in percent, and whether digits are left out."""
    percent = Decimal(100 * part) / Decimal(whole)
    shown = percent.quantize(TENTH, rounding=ROUND_DOWN)
    text = f"{shown:f}".removesuffix(".0")
    return text if shown == percent else f"≈ {text}"


def delivered_of(
    swap: Row, quote: Row, quotes: Sequence[Row], ledger: Sequence[Row]
) -> DeliveredAmount | None:
    """Return what final payouts brought; None before there is one."""
    outputs = _final(of_type(swap, "output"))
    if not outputs:
        return None
    exact = _present_quote(swap, quotes)
    booked = [entry for entry in ledger if entry["reason"] == "payout_final"]
    symbol = outputs[0]["token"]["symbol"]
    if exact is None or len(booked) != len(outputs):
        paid = sum_of(outputs, "amount") or Decimal(0)
        return DeliveredAmount(
            Figure(amount(paid), symbol, _part_of(swap, outputs)),
            Figure(amount(paid - Decimal(str(quote["receive_amount"]))), symbol),
            paid < Decimal(str(quote["min_receive_amount"])),
        )
    units = sum(_units(entry, "in_flight") for entry in booked)
    decimals = exact["destination_decimals"]
    difference = units - int(exact["receive_in_base_units"])
    part = f"entry-{booked[0]['id']}" if len(booked) == 1 else "ledger"
    return DeliveredAmount(
        Figure(exact_amount(str(units), decimals), symbol, part),
        Figure(exact_amount(str(difference), decimals), symbol),
        units < int(exact["min_receive_in_base_units"]),
    )


def under_way_of(swap: Row) -> Sequence[Figure]:
    """Return the payouts that are not final yet, also of a failed swap: one may be sent."""
    if swap["status"] in ("expired", "refunded"):
        return []
    payouts = _figures_of_type(swap, "output")
    return [figure for figure, one in payouts if one["status"] != "completed"]


def refunds_of(swap: Row) -> Sequence[Refund]:
    """Return what goes back, or has gone back."""
    return [
        Refund(figure, one["to"], is_final=one["status"] == "completed")
        for figure, one in _figures_of_type(swap, "refund")
    ]


def reversal_part(ledger: Sequence[Row]) -> str | None:
    """Return the part of the page in which the quote was reversed, so that no fee is charged."""
    found = [one for one in ledger if one["reason"] in ("quote_executed", "quote_reversed")]
    is_reversed = found and found[-1]["reason"] == "quote_reversed"
    return f"entry-{found[-1]['id']}" if is_reversed else None


def refund_fees_of(swap: Row) -> Sequence[Row]:
    """Return the refunds that gas was deducted from."""
    return [one for one in of_type(swap, "refund") if one["fee_amount"] is not None]


def refund_fees_part(ledger: Sequence[Row]) -> str:
    """Return the part of the page that has the cost of a refund."""
    found = (entry for entry in ledger if _units(entry, "gas_recovered"))
    entry = next(found, None)
    return "transactions" if entry is None else f"entry-{entry['id']}"


def senders_of(swap: Row) -> Sequence[str]:
    """Return where a swap is paid from: its own address, or the senders of its deposits."""
    if swap["source_address"]:
        return [swap["source_address"]]
    return list(dict.fromkeys(one["from"] for one in of_type(swap, "input") if one["from"]))


def with_new_prices(timeline: Iterable[Row], swap: Row) -> list[dict[str, Any]]:
    """Return the events of a swap, each with whether another quote was accepted by it."""
    last = swap["last_requoted_at"]
    return [
        {**event, "is_repriced": bool(last) and to_moment(event["at"]) == to_moment(last)}
        for event in timeline
    ]


def is_unconfirmed(swap: Row) -> bool:
    """Whether confirmations of a transaction are still counted."""
    return any(one["status"] != "completed" for one in swap["transactions"])


def is_over(swap: Row) -> bool:
    """Whether nothing more is expected of a swap."""
    return swap["status"] in ENDS


def with_sums(entries: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the ledger's entries, each with whether its postings add up to zero."""
    return [{**entry, "is_balanced": _is_balanced(entry["postings"])} for entry in entries]


def of_type(swap: Row, kind: str) -> Sequence[Row]:
    """Return a swap's transactions of one type."""
    return [one for one in swap["transactions"] if one["type"] == kind]


def sum_of(transactions: Sequence[Row], member: str) -> Decimal | None:
    """Return the sum of an amount; None where no transaction has it."""
    amounts = [Decimal(str(one[member])) for one in transactions if one[member] is not None]
    return sum(amounts, Decimal(0)) if amounts else None


def are_final(transactions: Sequence[Row]) -> bool:
    """Whether none of the transactions can be undone any more."""
    return all(one["status"] == "completed" for one in transactions)


def _payment_progress(name: str, payments: Sequence[Row], when_final: str) -> str:
    if are_final(payments):
        return when_final if payments else f"{name} follows"
    is_sent = any(one["status"] == "initiated" for one in payments)
    return f"{name} sent, confirming" if is_sent else f"{name} in preparation"


def _deposited_figure(swap: Row, total: Decimal) -> Figure:
    part = _part_of(swap, _final(of_type(swap, "input")))
    return Figure(amount(total), _token(swap, is_source=True)["symbol"], part)


def _figures_of_type(swap: Row, kind: str) -> Sequence[tuple[Figure, Row]]:
    """Return the amounts of a swap's transactions of one type, each with its transaction."""
    return [
        (Figure(amount(one["amount"]), one["token"]["symbol"], f"transaction-{number}"), one)
        for number, one in enumerate(swap["transactions"], start=1)
        if one["type"] == kind
    ]


def _part_of(swap: Row, transactions: Sequence[Row]) -> str:
    """Return the part of the page that has a sum of transactions."""
    if len(transactions) != 1:
        return "transactions"
    return f"transaction-{swap['transactions'].index(transactions[0]) + 1}"


def _final(transactions: Sequence[Row]) -> Sequence[Row]:
    return [one for one in transactions if one["status"] == "completed"]


def _present_quote(swap: Row, quotes: Sequence[Row]) -> Row | None:
    """Return the quote that the swap shows: the list may be older or newer than it."""
    return next((one for one in quotes if one["revision"] == swap["quote_revision"]), None)


def _token(swap: Row, *, is_source: bool) -> Row:
    token: Row = swap["source_token" if is_source else "destination_token"]
    return token


def _exact_figure(
    swap: Row,
    quote: Row,
    member: str,
    ledger: Sequence[Row] = (),
    *,
    is_source: bool,
    account: str | None = None,
) -> Figure:
    units = int(quote[member])
    decimals = quote["source_decimals" if is_source else "destination_decimals"]
    agreed = (entry for entry in reversed(ledger) if entry["reason"] == "quote_executed")
    entry = next((e for e in agreed if account and _has_amount(e, account, units)), None)
    part = None if entry is None else f"entry-{entry['id']}"
    symbol = _token(swap, is_source=is_source)["symbol"]
    return Figure(exact_amount(str(units), decimals), symbol, part)


def _has_amount(entry: Row, account: str, units: int) -> bool:
    """Whether an entry changes an account by exactly an amount, in either direction."""
    return any(
        posting["account"] == account and abs(int(posting["amount_in_base_units"])) == units
        for posting in entry["postings"]
    )


def _units(entry: Row, account: str) -> int:
    return sum(
        int(posting["amount_in_base_units"])
        for posting in entry["postings"]
        if posting["account"] == account
    )


def _is_balanced(postings: Sequence[Row]) -> bool:
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for posting in postings:
        sums[posting["network"], posting["token"]] += int(posting["amount_in_base_units"])
    return not any(sums.values())
