"""What happened to a swap, and what was booked for it, as the settler publishes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

# Entries of one database transaction have one time. Their reasons are in causal order: ends,
# deposits and losses, agreements, payments to be made.
REASONS: Final = (
    *("payout_final", "partner_fee_earned", "refund_final", "refuel_final", "claim_final"),
    *("payout_released", "refund_released", "refuel_released", "claim_released"),
    *("refund_cost_reversed", "refuel_unbought", "quote_reversed", "unclaimed", "claim_reversed"),
    *("lost", "refuel_lost", "refuel_kept", "credit_reversed", "recovered", "matched", "credited"),
    *("returned", "quote_executed", "refuel_bought", "refund_cost"),
    *("claimable", "refuel_claimable"),
    *("payout_reserved", "refund_reserved", "refuel_reserved", "claim_reserved"),
)
PLACES: Final = {reason: place for place, reason in enumerate(REASONS)}


@dataclass(frozen=True, slots=True)
class SwapEvent:
    sequence: int
    from_status: str | None
    to_status: str
    at: datetime
    cause: str | None  # None of what happened before causes were stored


@dataclass(frozen=True, slots=True)
class Posting:
    """One line of a swap's ledger; the lines of a transaction follow each other."""

    transaction_id: UUID
    reason: str
    at: datetime
    network: str | None
    block_number: int | None
    account: str
    asset_network: str
    asset_token: str
    base_units: int


@dataclass(frozen=True, slots=True)
class QuoteRevision:
    """A quote of a swap: the first has revision 0, and money that differs from it gets another."""

    revision: int
    source_network: str
    source_token: str
    source_decimals: int
    destination_decimals: int
    requested_base_units: int  # source, as are the fees
    receive_base_units: int
    min_receive_base_units: int
    service_fee_base_units: int
    blockchain_fee_base_units: int
    total_fee_base_units: int


def in_order(postings: Iterable[Posting]) -> Sequence[Posting]:
    """Return the oldest first. Entries of one time follow each other by their reasons."""
    return sorted(postings, key=_place)


def _place(posting: Posting) -> tuple[datetime, int, str, UUID]:
    place = PLACES.get(posting.reason, len(PLACES))
    return posting.at, place, posting.reason, posting.transaction_id
