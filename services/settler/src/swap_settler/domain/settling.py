"""What becomes of a swap's main leg once its money is there, or is gone again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid5

from swap_domain.lifecycle import Trigger
from swap_domain.money import Rounding, convert
from swap_settler.domain import ledger
from swap_settler.domain.ledger import LedgerTransaction
from swap_settler.domain.swap import (
    Deposit,
    DepositState,
    FailReason,
    Intent,
    IntentKind,
    IntentState,
    Swap,
)

# How long a user has at the least to see that a reorg took the deposit.
WAITS_AGAIN_FOR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Settled:
    """The swap after one more step of a fact, with what the step wrote."""

    swap: Swap
    intents: tuple[Intent, ...] = ()
    entries: tuple[LedgerTransaction, ...] = ()


def lock_quote(swap: Swap, at: datetime) -> Swap:
    """Return the swap with its quote locked, if what came on time reaches what was asked for."""
    if swap.quote.locked_at is not None:
        return swap
    on_time = sum(
        d.base_units
        for d in swap.deposits.values()
        if d.is_live and min(d.block_time, d.heard_at) <= swap.quote.expires_at
    )
    if on_time < swap.quote.requested_base_units:
        return swap
    return replace(swap, quote=replace(swap.quote, locked_at=at))


def unlock_quote(swap: Swap) -> Swap:
    """Return the swap with its quote free again, unless other deposits still hold it."""
    there = sum(d.base_units for d in swap.deposits.values() if d.is_live)
    if there >= swap.quote.requested_base_units:
        return swap
    return replace(swap, quote=replace(swap.quote, locked_at=None))


def settle(swap: Swap, at: datetime, *, available: int, paid_id: int) -> Settled:
    """Execute the quote if the credited sum is the one quoted; else wait, or fail.

    A sum that fits is not kept waiting by what else was seen: that moves on its own leg.

    :param available: what the destination's locked inventory can pay.
    """
    credited, requested = swap.credited_base_units, swap.quote.requested_base_units
    if credited != requested and swap.open_deposits:
        return Settled(swap)
    if credited < requested:
        return fail(swap, FailReason.RECEIVED_LESS, at)
    if credited > requested:
        return fail(swap, FailReason.RECEIVED_MORE, at)
    if swap.quote.locked_at is None:
        return fail(swap, FailReason.DEGRADED_QUOTE, at)
    if available < swap.quote.payout_base_units:
        return fail(swap, FailReason.INSUFFICIENT_LIQUIDITY, at)
    return _pay(swap, at, paid_id)


def fail(swap: Swap, reason: FailReason, at: datetime) -> Settled:
    """End the swap; what its main leg holds is claimable."""
    failed = replace(swap.after(Trigger.GAVE_UP_UNREFUNDABLE), fail_reason=reason, closed_at=at)
    entries = (ledger.claimable(failed, failed.credited_base_units),)
    return Settled(failed, entries=entries if failed.credited_base_units else ())


def take_back(swap: Swap, deposit: Deposit, *, version: int) -> Settled:
    """Reverse the credit of a deposit that a reorg took.

    :param deposit: as it was booked.
    """
    gone = replace(
        deposit,
        state=DepositState.REVERTED,
        version=version,
        is_booked=False,
        returned_base_units=0,
    )
    entry = ledger.credit_reversed(swap, deposit, version=version)
    return Settled(swap.with_deposit(gone), entries=(entry,))


def waits_again(swap: Swap, at: datetime) -> Swap:
    """Return a swap whose deposit was taken to its beginning, with time to be funded again."""
    return with_time(unlock_quote(swap.after(Trigger.DEPOSIT_REVERTED)), at)


def with_time(swap: Swap, at: datetime) -> Swap:
    """Return a swap that a reorg left without its deposit, with time to get it again."""
    return replace(swap, expires_at=max(swap.expires_at, at + WAITS_AGAIN_FOR))


def _pay(swap: Swap, at: datetime, paid_id: int) -> Settled:
    destination, quote = swap.terms.destination, swap.quote
    output = Intent(
        # The sequence makes it another intent than one that a reorg took back.
        id=uuid5(swap.id, f"output/{swap.sequence}"),
        paid_id=paid_id,
        swap_id=swap.id,
        deposit_id=None,
        kind=IntentKind.OUTPUT,
        network=destination.network,
        token=destination.token,
        to_address=swap.terms.destination_address,
        base_units=quote.payout_base_units,
        charged_base_units=quote.requested_base_units,
        usd_micros=convert(
            quote.payout_base_units,
            numerator=quote.destination_usd_e18,
            denominator=10 ** (destination.decimals + 12),
            rounding=Rounding.UP,
        ),
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
    )
    paid_for = swap.after(Trigger.DEPOSIT_CONFIRMED).with_intent(output)
    entries = (ledger.quote_executed(paid_for, output), ledger.payout_reserved(paid_for, output))
    return Settled(paid_for, (output,), entries)
