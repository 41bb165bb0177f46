"""What a deadline does. Pure: the unit of work has checked that it has passed on the chain."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from swap_domain.lifecycle import Status, Trigger
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.settled_step import SettledStep, changes_of
from swap_settler.model.swap import FailReason, Swap
from swap_settler.settling.decide.main_leg import refund_or_fail


def decide(swap: Swap, *, at: datetime) -> Changes:
    """Expire a swap without a deposit; refund a partial deposit.

    A deposit that is seen and not final keeps a swap open after its deadline. So do a signature
    that may still deposit, and a complete sum that is being requoted: both have separate deadlines.
    Where no sum was requested, no sum counts as complete.
    """
    if swap.status is not Status.DEPOSIT_PENDING or swap.expires_at >= at:
        return NOTHING
    if swap.open_deposits or swap.awaits_relay:
        return NOTHING
    if swap.asks_for_another_quote and not swap.lacks_base_units and not swap.is_open:
        return NOTHING
    due = swap.on(at)
    if swap.credited_base_units:
        done = refund_or_fail(due, FailReason.RECEIVED_LESS, at)
        return changes_of(swap, done, ChangeCause.DEADLINE_PASSED)
    expired = replace(due.with_trigger(Trigger.DEPOSIT_WINDOW_CLOSED), closed_at=at)
    return changes_of(swap, SettledStep(expired), ChangeCause.DEADLINE_PASSED)
