"""Orders a payment again that a restored ledger has forgotten and its Treasury has made. Pure.

What the swap allows is ordered, never what the log shows: the log is compared with it afterwards,
as with every payment. Nothing of it is sent: its id at the Treasury is spent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_domain.lifecycle import Status
from swap_settler.model import work_due
from swap_settler.model.chain_facts import PayoutFact
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger.inventory import MAX_UNITS, AssetKey
from swap_settler.model.settled_step import SettledStep, changes_of
from swap_settler.model.swap import DepositState, FailReason, Intent, IntentKind, Leg, Swap
from swap_settler.settling.decide import refunds
from swap_settler.settling.decide.main_leg import fill, move_to_own_leg, refund_or_fail
from swap_settler.settling.decide.payouts import abandon_payment

REASON: Final = "its money was sent back by a forgotten payment"
CAUSE: Final = ChangeCause.PAYMENT_RECONCILED


class NotAllowed(Exception):
    """The swap cannot have a payment that its Treasury has made; the words say why."""


def free_leg(swap: Swap, leg: Leg, kind: IntentKind, *, at: datetime) -> Changes:
    """Return the changes when a leg was not settled as the restored ledger has it.

    Its payment that waits is dead, and a deposit that waits for another quote is given back.

    :raises NotAllowed: while something signed may still make that payment.
    """
    waiting = swap.paying if leg is None else swap.refund_of(leg)
    if waiting is not None and waiting.kind is not kind:
        _require_unsent(waiting)
        return _abandon(swap, waiting, at)
    is_main = leg is None and waiting is None
    if is_main and swap.status is Status.DEPOSIT_PENDING and swap.credited_base_units:
        done = refund_or_fail(swap.on(at), FailReason.ROUTE_UNAVAILABLE, at)
        return changes_of(swap, done, CAUSE)
    return NOTHING


def free_refuel(swap: Swap, *, at: datetime) -> Changes:
    """Return the changes when a refuel was claimed, and so never sent."""
    if swap.refuel is None:
        return NOTHING
    _require_unsent(swap.refuel)
    return _abandon(swap, swap.refuel, at)


def move_last_deposits_off(
    swap: Swap, least: int, *, paid_alone: Collection[UUID], at: datetime
) -> Changes:
    """Return the changes when the last deposits came after the main leg's refund.

    Replayed together, they stand on the main leg. As long as the rest covers the payment, the last
    deposit is put on a separate leg.

    :param paid_alone: deposits with a separate payment that was found: these came last.
    """
    if swap.status is Status.FAILED:
        return NOTHING  # all of it is claimable already
    done = SettledStep(swap.on(at))
    credited = [d for d in swap.booked if d.state is DepositState.CREDITED]
    credited.sort(key=lambda d: (d.id in paid_alone, d.came_at, d.block_number, d.id))
    for deposit in reversed(credited[1:]):
        if done.swap.refundable_base_units - deposit.main_base_units < least:
            break
        cut = move_to_own_leg(done.swap, deposit, deposit.main_base_units)
        due = (*done.refunds_due, *cut.refunds_due)
        done = replace(cut.preceded_by(*done.entries), refunds_due=due)
    return changes_of(swap, done, CAUSE) if done.entries else NOTHING


def order_refund(
    swap: Swap, leg: Leg, log: PayoutFact, *, at: datetime, most_cost: int | None
) -> Changes:
    """Return the changes when a leg's refund was made, and was charged what it has cost.

    :param most_cost: what a refund may cost at most; None where a chain sets no bound.
    :raises NotAllowed: when the swap cannot be refunded on that leg.
    """
    if swap.terms.refund_address is None:
        raise NotAllowed("it has no refund address: set it first, then explain the refund")
    held = work_due.returnable_base_units(swap, leg)
    least = 1 if most_cost is None else max(held - most_cost, 1)
    units = min(max(log.base_units, least), held)
    change = refunds.start(swap, leg, at=at, cost=held - units, paid_id=log.paid_id)
    if not change.intents:
        raise NotAllowed(f"it is {swap.status.value}, and this leg of it cannot be refunded")
    return change.with_cause(CAUSE)


def end_for_claim(swap: Swap, leg: Leg, *, at: datetime) -> Changes:
    """Return the changes when the main leg was not refunded but claimable."""
    return refunds.abandon_refund(swap, at=at).with_cause(CAUSE) if leg is None else NOTHING


def order_output(swap: Swap, log: PayoutFact, *, at: datetime) -> Changes:
    """Return the changes when the output was paid by the quote that the swap has.

    :raises NotAllowed: when it waits for no output, or another quote was paid.
    """
    quote, updated_swap = swap.quote, swap.on(at)
    if swap.status is not Status.DEPOSIT_PENDING or not swap.credited_base_units:
        raise NotAllowed(f"it is {swap.status.value}, and waits for no output")
    if log.base_units != quote.payout_base_units or swap.lacks_base_units:
        raise NotAllowed(f"its quote pays {quote.payout_base_units}, and not {log.base_units}")
    resources = {"available": MAX_UNITS, "refuel_available": MAX_UNITS}
    done = fill(updated_swap, at, paid_id=log.paid_id, **resources)
    return changes_of(swap, done, CAUSE)


def is_of_source(swap: Swap, asset: AssetKey) -> bool:
    """Whether an asset is what the swap's deposits are in."""
    return asset == (swap.terms.source.network, swap.terms.source.token)


def _abandon(swap: Swap, intent: Intent, at: datetime) -> Changes:
    change = abandon_payment(swap, intent.id, at=at, because=REASON, failures=0)
    return change.with_cause(CAUSE)


def _require_unsent(intent: Intent) -> None:
    if not intent.is_revocable:
        raise NotAllowed(f"its {intent.kind.value} was signed, and may be in a block: wait")
