"""Steps of a swap's main leg: pay, refund, fail, and reverse after a reorg. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Unpack
from uuid import uuid5

from swap_domain.lifecycle import Trigger
from swap_settler.model.ledger import ledger
from swap_settler.model.settled_step import PayoutResources, SettledStep
from swap_settler.model.swap import (
    Deposit,
    DepositState,
    FailReason,
    Intent,
    IntentKind,
    IntentState,
    Swap,
)
from swap_settler.model.worth import worth

# The least time that a user has to deposit again after a reorg removed the deposit.
REQUOTE_EXTENSION: Final = timedelta(hours=1)


def lock_quote(swap: Swap, at: datetime) -> Swap:
    """Return the swap with its quote locked, if deposits on time reach the requested sum."""
    if swap.quote.locked_at is not None or not swap.quote.requested_base_units:
        return swap
    on_time = sum(
        d.base_units
        for d in swap.deposits.values()
        if d.is_live and d.came_at <= swap.quote.expires_at
    )
    if on_time < swap.quote.requested_base_units:
        return swap
    return replace(swap, quote=replace(swap.quote, locked_at=at))


def unlock_quote(swap: Swap) -> Swap:
    """Return the swap with its quote unlocked, unless its other deposits reach the sum."""
    there = sum(d.base_units for d in swap.deposits.values() if d.is_live)
    if there >= swap.quote.requested_base_units:
        return swap
    return replace(swap, quote=replace(swap.quote, locked_at=None))


def settle(swap: Swap, at: datetime, **resources: Unpack[PayoutResources]) -> SettledStep:
    """Pay a quote with a credited sum; otherwise return the swap unchanged.

    Another sum, or a late one, needs another quote first. While deposits that were seen on time
    reach the sum and are not all final, the swap waits for their finality.
    """
    if swap.asks_for_another_quote or not swap.credited_base_units or swap.lacks_base_units:
        return SettledStep(swap)
    return fill(swap, at, **resources)


def fill(swap: Swap, at: datetime, **resources: Unpack[PayoutResources]) -> SettledStep:
    """Pay the quoted output; return an excess on a separate leg.

    An unaffordable refuel is refunded; it never blocks the output.
    """
    if swap.quote.requested_base_units != swap.quote.swapped_base_units:
        swap = _with_affordable_refuel(swap, resources.get("refuel_available", 0))
    if resources["available"] < swap.quote.payout_base_units:
        return refund_or_fail(swap, FailReason.INSUFFICIENT_LIQUIDITY, at)
    filled = _without_excess(swap)
    paid = _pay(filled.swap, at, resources["paid_id"])
    return replace(paid.preceded_by(*filled.entries), refunds_due=filled.refunds_due)


def _with_affordable_refuel(swap: Swap, available: int) -> Swap:
    refuel = swap.quote.refuel
    if refuel is not None and swap.refuel is None and refuel.base_units <= available:
        return swap
    return replace(swap, quote=swap.quote.without_refuel())


def refund_or_fail(swap: Swap, reason: FailReason, at: datetime) -> SettledStep:
    """Refund what the main leg holds, or fail the swap where it has no refund address."""
    if swap.terms.refund_address is None:
        return fail(swap, reason, at)
    pending = replace(swap.with_trigger(Trigger.ABANDONED_REFUNDABLE), fail_reason=reason)
    return SettledStep(pending, refunds_due=(None,))


def move_to_own_leg(swap: Swap, deposit: Deposit, base_units: int) -> SettledStep:
    """Put the unused part of a deposit on a separate leg."""
    own = replace(deposit, returned_base_units=deposit.returned_base_units + base_units)
    entry = ledger.excess_returned(swap, deposit, base_units)
    due = (deposit.id,) if swap.terms.refund_address is not None else ()
    return SettledStep(swap.with_deposit(own), entries=(entry,), refunds_due=due)


def fail(swap: Swap, reason: FailReason, at: datetime) -> SettledStep:
    """Fail the swap; what its main leg holds is claimable."""
    failed = replace(
        swap.with_trigger(Trigger.ABANDONED_UNREFUNDABLE), fail_reason=reason, closed_at=at
    )
    held = failed.refundable_base_units
    return SettledStep(failed, entries=(ledger.claimable(failed, held),) if held else ())


def reverse_credit(swap: Swap, deposit: Deposit, *, version: int) -> SettledStep:
    """Reverse the credit of a deposit that a reorg removed.

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
    return SettledStep(swap.with_deposit(gone), entries=(entry,))


def reopen(swap: Swap, at: datetime) -> Swap:
    """Return a swap to its first status after a reorg removed its deposit."""
    waiting = replace(swap.with_trigger(Trigger.DEPOSIT_REVERTED), fail_reason=None)
    return with_time(unlock_quote(waiting), at)


def with_time(swap: Swap, at: datetime) -> Swap:
    """Return a swap with at least an hour to deposit again."""
    return replace(swap, expires_at=max(swap.expires_at, at + REQUOTE_EXTENSION))


def _without_excess(swap: Swap) -> SettledStep:
    """Return the excess over the requested sum, out of the newest deposits."""
    done = SettledStep(swap)
    excess = swap.credited_base_units - swap.quote.requested_base_units
    credited = [d for d in swap.booked if d.state is DepositState.CREDITED]
    credited.sort(key=lambda d: (d.attached_at or d.received_at, d.id), reverse=True)
    for deposit in credited:
        part = min(excess, deposit.main_base_units)
        if part:
            cut = move_to_own_leg(done.swap, deposit, part)
            due = (*done.refunds_due, *cut.refunds_due)
            done = replace(cut.preceded_by(*done.entries), refunds_due=due)
            excess -= part
    return done


def _pay(swap: Swap, at: datetime, paid_id: int) -> SettledStep:
    destination, quote = swap.terms.destination, swap.quote
    output = Intent(
        # The sequence distinguishes it from an intent before a reorg.
        id=uuid5(swap.id, f"output/{swap.sequence}"),
        paid_id=paid_id,
        swap_id=swap.id,
        deposit_id=None,
        kind=IntentKind.OUTPUT,
        network=destination.network,
        token=destination.token,
        to_address=swap.terms.destination_address,
        base_units=quote.payout_base_units,
        charged_base_units=quote.swapped_base_units,
        usd_micros=worth(destination, quote.payout_base_units, quote.destination_usd_e18),
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
    )
    paid_for = swap.with_trigger(Trigger.DEPOSIT_CONFIRMED).with_intent(output)
    entries = [ledger.quote_executed(paid_for, output), ledger.payout_reserved(paid_for, output)]
    if quote.refuel is not None:
        entries.append(ledger.refuel_bought(paid_for, quote.refuel))
    return SettledStep(paid_for, (output,), tuple(entries))
