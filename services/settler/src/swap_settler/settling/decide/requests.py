"""What partners request: a swap begins, or gets its refund address. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from swap_domain.lifecycle import Status, Trigger
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
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
    if swap.status is not Status.FAILED or is_kept or not held or swap.claim(None):
        return Changes(
            swap=updated_swap,
            previous_status=swap.status,
            cause=ChangeCause.REFUND_ADDRESS_SET,
            refunds_due=tuple(due),
        )
    pending = replace(updated_swap.with_trigger(Trigger.REFUND_ADDRESS_SET), closed_at=None)
    return Changes(
        swap=pending,
        previous_status=swap.status,
        cause=ChangeCause.REFUND_ADDRESS_SET,
        ledger=(ledger.unclaimed(pending, held),),
        refunds_due=(None, *due),
    )
