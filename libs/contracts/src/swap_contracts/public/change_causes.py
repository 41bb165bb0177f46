"""Why a swap changed, with who acted: the public words for the settler's decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

ChangeCause = Literal[
    "swap_requested",
    "refund_address_set",
    "deposit_seen",
    "deposit_confirmed",
    "deposit_reverted",
    "deposit_matched",
    "deposit_attached",
    "deposit_attached_by_operator",
    "authorization_submitted",
    "authorization_refused",
    "authorization_sent",
    "authorization_ended",
    "deadline_passed",
    "requoted",
    "requote_refused",
    "payout_sent",
    "payout_mined",
    "payout_confirmed",
    "payout_reverted",
    "payout_abandoned",
    "refuel_sent",
    "refuel_mined",
    "refuel_confirmed",
    "refuel_reverted",
    "refuel_abandoned",
    "refuel_overdue",
    "refund_started",
    "refund_below_cost",
    "refund_overdue",
    "refund_sent",
    "refund_mined",
    "refund_confirmed",
    "refund_reverted",
    "refund_abandoned",
    "payment_ordered",
    "payment_reconciled",
]
Actor = Literal["partner", "payer", "partner or payer", "network", "service", "operator"]


class CauseText(NamedTuple):
    actor: Actor
    text: str


CAUSE_TEXTS: Final[Mapping[ChangeCause, CauseText]] = {
    "swap_requested": CauseText("partner", "A request to the API created the swap."),
    "refund_address_set": CauseText("partner or payer", "The refund address was set."),
    "deposit_seen": CauseText("payer", "A block has a deposit."),
    "deposit_confirmed": CauseText("network", "A deposit is final."),
    "deposit_reverted": CauseText("network", "A reorg removed a deposit."),
    "deposit_matched": CauseText("service", "A deposit that came before the swap was matched."),
    "deposit_attached": CauseText("payer", "A deposit's sender signed that it is for this swap."),
    "deposit_attached_by_operator": CauseText("operator", "A deposit was attached by an order."),
    "authorization_submitted": CauseText("payer", "A signature for a deposit was submitted."),
    "authorization_refused": CauseText("service", "A submitted signature was refused."),
    "authorization_sent": CauseText("service", "The deposit of a signature was sent."),
    "authorization_ended": CauseText("service", "A signature ended without a deposit."),
    "deadline_passed": CauseText("service", "The time for deposits has passed."),
    "requoted": CauseText("service", "The amount that arrived got a new quote."),
    "requote_refused": CauseText("service", "The amount that arrived got no acceptable new quote."),
    "payout_sent": CauseText("service", "The payout was sent."),
    "payout_mined": CauseText("network", "A block has the payout."),
    "payout_confirmed": CauseText("network", "The payout is final."),
    "payout_reverted": CauseText("network", "A reorg removed the payout's block."),
    "payout_abandoned": CauseText("service", "The payout will not be made."),
    "refuel_sent": CauseText("service", "The refuel was sent."),
    "refuel_mined": CauseText("network", "A block has the refuel."),
    "refuel_confirmed": CauseText("network", "The refuel is final."),
    "refuel_reverted": CauseText("network", "A reorg removed the refuel's block."),
    "refuel_abandoned": CauseText("service", "The refuel will not be made."),
    "refuel_overdue": CauseText("service", "The swap completed without waiting for its refuel."),
    "refund_started": CauseText("service", "A refund was ordered."),
    "refund_below_cost": CauseText("service", "A refund would cost more than it returns."),
    "refund_overdue": CauseText("service", "A refund could not be ordered in time."),
    "refund_sent": CauseText("service", "A refund was sent."),
    "refund_mined": CauseText("network", "A block has a refund."),
    "refund_confirmed": CauseText("network", "A refund is final."),
    "refund_reverted": CauseText("network", "A reorg removed a refund's block."),
    "refund_abandoned": CauseText("service", "A refund will not be made."),
    "payment_ordered": CauseText("operator", "The payment of a claimable balance was ordered."),
    "payment_reconciled": CauseText(
        "operator", "A payment was reconciled with an external transaction."
    ),
}
DESCRIPTION: Final = "\n".join(
    (
        "Why the swap changed; null for a change by an earlier version of the service.",
        "Later versions may add causes.\n",
        *(f"- `{cause}`: {text} ({actor})" for cause, (actor, text) in CAUSE_TEXTS.items()),
    )
)
