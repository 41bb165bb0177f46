"""What partners ask for. Pure: a swap begins, or is told where its money may go back to."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from swap_settler.domain.changes import NOTHING, Changes
from swap_settler.domain.swap import Swap


def begin(swap: Swap) -> Changes:
    """Return what it changes that a swap was requested: its first sequence."""
    return Changes(swap=swap)


def set_refund_address(swap: Swap, address: str, *, at: datetime) -> Changes:
    """Return what it changes that a refund address was given. The first one stays."""
    if swap.terms.refund_address is not None:
        return NOTHING
    told = replace(swap.on(at), terms=replace(swap.terms, refund_address=address))
    return Changes(swap=told, previous_status=swap.status)
