"""The steps by which one fact changes a swap, and what they wrote. Pure.

A fact is a message about a deposit or a payment. One fact may need several steps, such as a credit
and a payout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NotRequired, TypedDict

from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import LedgerTransaction
from swap_settler.model.swap import Intent, Leg, Swap


@dataclass(frozen=True, slots=True)
class SettledStep:
    """A swap after one more step, with the intents and ledger entries that the step wrote."""

    swap: Swap
    intents: tuple[Intent, ...] = ()
    entries: tuple[LedgerTransaction, ...] = ()
    refunds_due: tuple[Leg, ...] = ()

    def preceded_by(
        self, *entries: LedgerTransaction, intents: tuple[Intent, ...] = ()
    ) -> SettledStep:
        """Return the step with entries and intents that were written before its own."""
        return replace(self, entries=(*entries, *self.entries), intents=(*intents, *self.intents))


class PayoutResources(TypedDict):
    """What is available to pay a swap, while its row and its inventory are locked."""

    available: int  # what the destination's inventory can pay
    paid_id: int  # the payment id that the Treasury pays only once
    refuel_available: NotRequired[int]  # of the destination's own coin, where a refuel was quoted


def changes_of(before: Swap, done: SettledStep, cause: ChangeCause) -> Changes:
    """Return the changes to save after all steps of a fact."""
    relay = done.swap.relay
    is_relay_changed = relay is not None and before.intents.get(relay.id) != relay
    return Changes(
        swap=done.swap,
        previous_status=before.status,
        cause=cause,
        deposits=tuple(d for d in done.swap.deposits.values() if before.deposits.get(d.id) != d),
        intents=(*done.intents, relay) if relay is not None and is_relay_changed else done.intents,
        ledger=done.entries,
        refunds_due=done.refunds_due,
        is_requote_due=_needs_new_quote(before, done.swap),
    )


def _needs_new_quote(before: Swap, swap: Swap) -> bool:
    """Whether the swap needs a quote for an amount without one."""
    is_the_same = before.credited_base_units == swap.credited_base_units
    return swap.asks_for_another_quote and not (is_the_same and before.asks_for_another_quote)
