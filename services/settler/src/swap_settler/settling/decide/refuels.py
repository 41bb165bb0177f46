"""Some of the destination's native coin beside the output, on a separate leg. Pure.

It is ordered once the output is in a block, and never before, so that it cannot hold the output up.
A swap with a refuel completes when the output is final and the refuel was sent. A refuel that was
not sent some minutes later is claimable for the recipient, and the swap completes without it. One
that the chain may have as paid is not claimable: it waits for an operator, and the swap does not
wait.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import uuid5

from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status, Trigger
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.settled_step import SettledStep, changes_of
from swap_settler.model.swap import Intent, IntentKind, IntentState, Swap
from swap_settler.model.work_due import completion_due_at
from swap_settler.model.worth import worth

TOO_LATE: Final = "it could not be sent in time"


def order(done: SettledStep, *, at: datetime, paid_id: int) -> SettledStep:
    """Order the refuel that was bought, unless it is ordered.

    :param paid_id: what the Treasury accepts once for it.
    """
    swap, refuel = done.swap, done.swap.quote.refuel
    if refuel is None or swap.refuel is not None:
        return done
    intent = Intent(
        # The sequence makes it another intent than one that died before its output.
        id=uuid5(swap.id, f"refuel/{swap.sequence}"),
        paid_id=paid_id,
        swap_id=swap.id,
        deposit_id=None,
        kind=IntentKind.REFUEL,
        network=swap.terms.destination.network,
        token=NATIVE,
        to_address=swap.terms.destination_address,
        base_units=refuel.base_units,
        charged_base_units=refuel.charged_base_units,
        usd_micros=worth(swap.terms.source, refuel.charged_base_units, swap.quote.source_usd_e18),
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
    )
    ordered = swap.with_intent(intent)
    entry = ledger.payout_reserved(ordered, intent)
    return replace(
        done,
        swap=ordered,
        intents=(*done.intents, intent),
        entries=(*done.entries, entry),
    )


def complete(done: SettledStep, *, at: datetime) -> SettledStep:
    """Complete the swap if its output is final and nothing more has to leave."""
    swap = done.swap
    if completion_due_at(swap) is None:
        return done
    if swap.quote.refuel is not None and (swap.refuel is None or not swap.refuel.has_left):
        return done
    return replace(done, swap=replace(swap.with_trigger(Trigger.PAYOUT_CONFIRMED), closed_at=at))


def claim(done: SettledStep) -> SettledStep:
    """Make a refuel that cannot be sent claimable, once its output has ended."""
    swap, output, refuel = done.swap, done.swap.output, done.swap.quote.refuel
    is_open = output is not None and output.state is not IntentState.CONFIRMED
    if refuel is None or swap.refuel is not None or is_open:
        return done
    entry = ledger.refuel_claimable(swap, refuel)
    claimed = replace(swap, quote=swap.quote.with_refuel_claimable())
    return replace(done, swap=claimed, entries=(*done.entries, entry))


def forget(swap: Swap, dead: Intent) -> SettledStep | None:
    """End a dead refuel after a reorg removed its deposit: nothing is owed for it."""
    if dead.charged_base_units:
        return None
    entry = ledger.refuel_charge_retained(swap, dead)
    return SettledStep(replace(swap, quote=swap.quote.without_refuel()), entries=(entry,))


def overdue(swap: Swap, *, at: datetime, may_be_paid: bool = False) -> Changes:
    """Return the changes when a final output has waited long enough for its refuel.

    A signed refuel is left to its own end: it may still arrive, or be claimable later.

    :param may_be_paid: the chain may have paid the refuel by another transaction: left as well.
    """
    output = swap.output
    is_final = output is not None and output.state is IntentState.CONFIRMED
    if swap.status is not Status.PAYOUT_PENDING or not is_final:
        return NOTHING
    done = SettledStep(swap.on(at))
    intent = swap.refuel
    if intent is not None and intent.is_revocable and not may_be_paid:
        dead = intent.as_dead(TOO_LATE)
        freed = done.swap.with_intent(dead)
        entry = ledger.payout_released(freed, dead)
        done = SettledStep(freed, (dead,), (entry,))
    done = claim(done)
    completed = replace(done.swap.with_trigger(Trigger.PAYOUT_CONFIRMED), closed_at=at)
    return changes_of(swap, replace(done, swap=completed), ChangeCause.REFUEL_OVERDUE)
