"""What partners request: a swap begins, or gets its refund address. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from swap_domain.lifecycle import Status, Trigger
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.settled_step import SettledStep, changes_of
from swap_settler.model.swap import FailReason, Leg, Swap
from swap_settler.model.targets import DepositTarget


def begin(swap: Swap, target: DepositTarget | None = None) -> Changes:
    """Return the changes of a requested swap: its first sequence."""
    return Changes(swap=swap, cause=ChangeCause.SWAP_REQUESTED, target=target)


def set_refund_address(swap: Swap, address: str, *, at: datetime) -> Changes:
    """Return the changes when a refund address is set. The first one stays.

    Money that was claimable because there was no address is sent back.
    """
    if swap.terms.refund_address is not None:
        return NOTHING
    updated_swap = replace(swap.on(at), terms=replace(swap.terms, refund_address=address))
    due: list[Leg] = [
        d.id for d in updated_swap.deposits.values() if d.is_booked and d.returned_base_units
    ]
    held = updated_swap.refundable_base_units
    # Money that screening rejected is released by an operator, not by an address.
    is_kept = swap.fail_reason is FailReason.REJECTED_BY_POLICY
    done = SettledStep(updated_swap, refunds_due=tuple(due))
    if swap.status is Status.FAILED and not is_kept and held and not swap.claim(None):
        pending = replace(updated_swap.with_trigger(Trigger.REFUND_ADDRESS_SET), closed_at=None)
        entries = (ledger.claimable_to_liability(pending, held),)
        done = SettledStep(pending, entries=entries, refunds_due=(None, *due))
    return changes_of(swap, done, ChangeCause.REFUND_ADDRESS_SET)
