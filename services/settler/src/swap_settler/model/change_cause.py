"""Why a swap changed: a request, a fact of a chain, a deadline or an operator's order."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

from swap_settler.model.swap import IntentKind


class ChangeCause(StrEnum):
    """One per decision that changes a swap. The values are the public wire strings."""

    SWAP_REQUESTED = "swap_requested"
    REFUND_ADDRESS_SET = "refund_address_set"
    DEPOSIT_SEEN = "deposit_seen"
    DEPOSIT_CONFIRMED = "deposit_confirmed"
    DEPOSIT_REVERTED = "deposit_reverted"
    DEPOSIT_MATCHED = "deposit_matched"  # it was there before its swap
    DEPOSIT_ATTACHED = "deposit_attached"  # its sender signed which swap it is for
    DEPOSIT_ATTACHED_BY_OPERATOR = "deposit_attached_by_operator"
    AUTHORIZATION_SUBMITTED = "authorization_submitted"
    AUTHORIZATION_REFUSED = "authorization_refused"
    AUTHORIZATION_SENT = "authorization_sent"
    AUTHORIZATION_ENDED = "authorization_ended"  # without its deposit
    DEADLINE_PASSED = "deadline_passed"
    REQUOTED = "requoted"
    REQUOTE_REFUSED = "requote_refused"
    PAYOUT_SENT = "payout_sent"
    PAYOUT_MINED = "payout_mined"
    PAYOUT_CONFIRMED = "payout_confirmed"
    PAYOUT_REVERTED = "payout_reverted"
    PAYOUT_ABANDONED = "payout_abandoned"
    REFUEL_SENT = "refuel_sent"
    REFUEL_MINED = "refuel_mined"
    REFUEL_CONFIRMED = "refuel_confirmed"
    REFUEL_REVERTED = "refuel_reverted"
    REFUEL_ABANDONED = "refuel_abandoned"
    REFUEL_OVERDUE = "refuel_overdue"
    REFUND_STARTED = "refund_started"
    REFUND_BELOW_COST = "refund_below_cost"
    REFUND_OVERDUE = "refund_overdue"
    REFUND_SENT = "refund_sent"
    REFUND_MINED = "refund_mined"
    REFUND_CONFIRMED = "refund_confirmed"
    REFUND_REVERTED = "refund_reverted"
    REFUND_ABANDONED = "refund_abandoned"
    PAYMENT_ORDERED = "payment_ordered"  # of a claimable balance, by an operator
    PAYMENT_RECONCILED = "payment_reconciled"  # with an external transaction, by an operator


PaymentStep = Literal["sent", "mined", "confirmed", "reverted", "abandoned"]
# A claim that an operator pays is shown as a refund.
PAYMENT_NAMES: Final[Mapping[IntentKind, str]] = {
    IntentKind.OUTPUT: "payout",
    IntentKind.REFUEL: "refuel",
    IntentKind.REFUND: "refund",
    IntentKind.CLAIM: "refund",
}


def cause_of_payment(kind: IntentKind, step: PaymentStep) -> ChangeCause:
    """Return the cause of a change by a payment of a swap."""
    return ChangeCause(f"{PAYMENT_NAMES[kind]}_{step}")
