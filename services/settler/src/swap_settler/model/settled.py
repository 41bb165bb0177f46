"""A swap after each step of a fact, and what the steps wrote. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NotRequired, TypedDict

from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import LedgerTransaction
from swap_settler.model.swap import Intent, Leg, Swap


@dataclass(frozen=True, slots=True)
class SettledStep:
    """The swap after one more step of a fact, with what the step wrote."""

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
    """What a swap may be paid with, while it is locked."""

    available: int  # what the destination's inventory can pay
    paid_id: int  # what the Treasury accepts once for this swap's payout
    refuel_available: NotRequired[int]  # of the destination's own coin, where a refuel was quoted


def changes_of(before: Swap, done: SettledStep) -> Changes:
    """Return what is to be saved of all steps of a fact."""
    relay = done.swap.relay
    is_relay_changed = relay is not None and before.intents.get(relay.id) != relay
    return Changes(
        swap=done.swap,
        previous_status=before.status,
        deposits=tuple(d for d in done.swap.deposits.values() if before.deposits.get(d.id) != d),
        intents=(*done.intents, relay) if relay is not None and is_relay_changed else done.intents,
        ledger=done.entries,
        refunds_due=done.refunds_due,
        is_requote_due=_needs_new_quote(before, done.swap),
    )


def _needs_new_quote(before: Swap, swap: Swap) -> bool:
    """Whether the quoter has not been asked about what the swap holds now."""
    is_the_same = before.credited_base_units == swap.credited_base_units
    return swap.asks_for_another_quote and not (is_the_same and before.asks_for_another_quote)
