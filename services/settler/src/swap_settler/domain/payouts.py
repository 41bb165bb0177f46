"""What happens to a payment on its way: sent, mined, final, taken by a reorg, or given up. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from swap_domain.lifecycle import Trigger
from swap_settler.domain import ledger
from swap_settler.domain.changes import NOTHING, Changes, Halt
from swap_settler.domain.facts import Payout, Said
from swap_settler.domain.settling import fail, take_back, waits_again
from swap_settler.domain.swap import FailReason, Intent, IntentState, Swap


def decide(swap: Swap | None, payout: Payout, *, at: datetime, treasury: str | None) -> Changes:
    """Return what the log changes, or nothing when it is not newer than what is known.

    :param treasury: where the token is held; None for a token that is not ours to book.
    """
    intent = _paid_by(swap, payout)
    if swap is None or intent is None or not _explains(intent, payout):
        return _unexplained(payout, treasury)
    if payout.version <= intent.version:
        return NOTHING
    if intent.state is IntentState.CONFIRMED:
        return _after_the_end(swap, intent, payout, at)
    match payout.said:
        case Said.SEEN:
            return _changed(swap, _mined(intent, payout, IntentState.MINED), at)
        case Said.CONFIRMED:
            return _confirmed(swap, _mined(intent, payout, IntentState.CONFIRMED), at, treasury)
        case Said.REVERTED:
            return _changed(swap, _unmined(intent, payout), at)


def sent(swap: Swap, intent_id: UUID, *, at: datetime) -> Changes:
    """Return what it changes that the nodes have the payment; nothing when more is known."""
    intent = swap.intents.get(intent_id)
    if intent is None or intent.state is not IntentState.ASSIGNED:
        return NOTHING
    return _changed(swap, replace(intent, state=IntentState.BROADCAST), at)


def gave_up(swap: Swap, intent_id: UUID, *, at: datetime, because: str, failures: int) -> Changes:
    """Return what it changes that the payment is proven dead and is not tried again."""
    intent = swap.intents.get(intent_id)
    if intent is None or intent.state in (IntentState.MINED, IntentState.CONFIRMED):
        return NOTHING
    dead = intent.died(because, failures=failures)
    freed = swap.on(at).with_intent(dead)
    entries = [ledger.payout_released(freed, dead), ledger.quote_reversed(freed, dead)]
    gone = swap.taken
    for deposit in gone:
        done = take_back(freed, deposit, version=deposit.version)
        # Seen again, it is credited again when it is final.
        freed = done.swap.with_deposit(replace(done.swap.deposits[deposit.id], state=deposit.state))
        entries += done.entries
    if gone:
        # A reorg took the money while the payment was out: nobody is owed anything for it.
        after = waits_again(freed, at)
    else:
        done = fail(freed, FailReason.DESTINATION_UNAVAILABLE, at)
        after = done.swap
        entries += done.entries
    return Changes(
        swap=after,
        previous_status=swap.status,
        deposits=tuple(after.deposits[d.id] for d in gone),
        intents=(dead,),
        ledger=tuple(entries),
    )


def _paid_by(swap: Swap | None, payout: Payout) -> Intent | None:
    intents = () if swap is None else swap.intents.values()
    key = (payout.network, payout.paid_id)
    return next((i for i in intents if (i.network, i.paid_id) == key), None)


def _explains(intent: Intent, payout: Payout) -> bool:
    ordered = (intent.token, intent.to_address, intent.base_units)
    paid = (payout.token, payout.to_address, payout.base_units)
    return payout.transaction_hash in intent.attempts and ordered == paid


def _unexplained(payout: Payout, treasury: str | None) -> Changes:
    reason = f"payment {payout.paid_id} in {payout.transaction_hash} is not one we ordered"
    halt = Halt(payout.network, reason)
    if payout.said is not Said.CONFIRMED or treasury is None:
        return Changes(halt=halt)
    entry = ledger.payout_unexplained(
        network=payout.network,
        token=payout.token,
        paid_id=payout.paid_id,
        transaction_hash=payout.transaction_hash,
        base_units=payout.base_units,
        block_number=payout.block_number,
        treasury=treasury,
    )
    return Changes(ledger=(entry,), halt=halt)


def _after_the_end(swap: Swap, intent: Intent, payout: Payout, at: datetime) -> Changes:
    """A final payment stays final for us; that the chain took it back is for a person.

    Without its block it counts as unmined: the lane sends the same bytes again.
    """
    if payout.said is not Said.REVERTED:
        return _changed(swap, _mined(intent, payout, IntentState.CONFIRMED), at)
    unmined = replace(_unmined(intent, payout), transaction_hash=intent.transaction_hash)
    reason = f"final payment {payout.paid_id} in {payout.transaction_hash} was reverted"
    return replace(_changed(swap, unmined, at), halt=Halt(payout.network, reason))


def _confirmed(swap: Swap, intent: Intent, at: datetime, treasury: str | None) -> Changes:
    assert treasury is not None, "a payout is of a token of the catalogue"
    assert intent.block_number is not None
    confirmed = replace(intent, confirmed_at=at)
    paid = replace(swap.on(at).with_intent(confirmed).after(Trigger.PAYOUT_CONFIRMED), closed_at=at)
    final = ledger.payout_final(
        paid, confirmed, block_number=intent.block_number, treasury=treasury
    )
    entries = [final, *(ledger.lost(paid, d) for d in paid.taken)]
    return Changes(
        swap=paid, previous_status=swap.status, intents=(confirmed,), ledger=tuple(entries)
    )


def _changed(swap: Swap, intent: Intent, at: datetime) -> Changes:
    changed = swap.on(at).with_intent(intent)
    return Changes(swap=changed, previous_status=swap.status, intents=(intent,))


def _mined(intent: Intent, payout: Payout, state: IntentState) -> Intent:
    return replace(
        intent,
        state=state,
        version=payout.version,
        transaction_hash=payout.transaction_hash,
        block_number=payout.block_number,
        block_hash=payout.block_hash,
        block_time=payout.block_time,
    )


def _unmined(intent: Intent, payout: Payout) -> Intent:
    """The same bytes are out still: they may be mined again."""
    was_mined = intent.state is IntentState.MINED
    return replace(
        intent,
        state=IntentState.BROADCAST if was_mined else intent.state,
        version=payout.version,
        transaction_hash=None,
        block_number=None,
        block_hash=None,
        block_time=None,
    )
