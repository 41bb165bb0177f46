"""How a nonce that is not mined is replaced. Pure: the lane reads before and writes after.

Every later nonce of the signer waits for the lowest one. Its fee is raised up to a cap; then it is
only rebroadcast, with an alarm. After the dwell time a no-op replaces it, at a fee that may exceed
a payment's cap. Whichever of a slot's transactions is mined decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final

from swap_chains.ports import Fees
from swap_settler.paying.decide.lane import Group

# Nodes ask for a tenth or an eighth more on both fields; less than our step is never offered.
LEAST_STEP_PERMILLE: Final = 125
STEP_PERMILLE: Final = 200
CANCEL_CAP_FACTOR: Final = 2  # a no-op takes a quarter of a payment's gas
BLOCKS_PASSED_MIN: Final = 2  # while no block is made, nothing offered helps


@dataclass(frozen=True, slots=True)
class OpenSlot:
    """A slot in no block, with the newest transaction that was signed for it."""

    nonce: int
    fees: Fees
    is_cancel: bool
    signed_for: timedelta  # how long ago the newest was signed
    assigned_for: timedelta
    payments: Group  # those that live
    # A reorg took a deposit that one of them pays for, or a signature is valid no more.
    is_unfounded: bool


class Act(Enum):
    WAIT = "wait"
    OFFER_MORE = "offer_more"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a transaction may wait before it is replaced, and before it is abandoned."""

    replace_after: timedelta
    dwell: timedelta
    fee_cap: int

    def about(self, slot: OpenSlot, *, is_lowest: bool, blocks_passed: int) -> Act:
        """Return what is to be done now."""
        if slot.is_unfounded and not slot.is_cancel:
            return Act.CANCEL
        if not is_lowest or blocks_passed < BLOCKS_PASSED_MIN:
            return Act.WAIT
        if slot.signed_for < self.replace_after:
            return Act.WAIT
        if slot.assigned_for >= self.dwell and not slot.is_cancel:
            return Act.CANCEL
        return Act.OFFER_MORE

    def cap(self, act: Act, slot: OpenSlot) -> int:
        is_cancel = act is Act.CANCEL or slot.is_cancel or not slot.payments
        return self.fee_cap * CANCEL_CAP_FACTOR if is_cancel else self.fee_cap


def offered_more(old: Fees, market: Fees, *, cap: int) -> Fees | None:
    """Return fees that replace others by every node's rule, or None when the cap forbids them."""
    if _more(old.max_fee_per_gas, LEAST_STEP_PERMILLE) > cap:
        return None
    wanted = max(_more(old.max_fee_per_gas, STEP_PERMILLE), market.max_fee_per_gas)
    tip = max(_more(old.max_priority_fee_per_gas, STEP_PERMILLE), market.max_priority_fee_per_gas)
    max_fee = min(wanted, cap)
    return Fees(max_fee, min(tip, max_fee))


def _more(fee: int, permille: int) -> int:
    """Return a fee and a step on it, rounded up, and never the same again."""
    return max(-(-fee * (1000 + permille) // 1000), fee + 1)
