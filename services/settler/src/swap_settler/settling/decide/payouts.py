"""The steps of a payment: sent, mined, final, removed by a reorg, or abandoned. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_domain.lifecycle import Status, Trigger
from swap_settler.gasless.decide.relaying import mark_relay_broadcast
from swap_settler.model.chain_facts import FactState, PayoutFact
from swap_settler.model.change_cause import ChangeCause, PaymentStep, cause_of_payment
from swap_settler.model.changes import NOTHING, Changes, Halt
from swap_settler.model.ledger import ledger
from swap_settler.model.ledger.accounts import LedgerTransaction
from swap_settler.model.settled_step import SettledStep, changes_of
from swap_settler.model.swap import FailReason, Intent, IntentKind, IntentState, Swap
from swap_settler.settling.decide.main_leg import fail, refund_or_fail, reopen, reverse_credit
from swap_settler.settling.decide.refuels import claim, complete, forget, order
from swap_settler.settling.decide.refunds import release_payment

ENDED_WITH_THE_SWAP: Final = (IntentKind.OUTPUT, IntentKind.REFUND)
STEPS: Final[Mapping[FactState, PaymentStep]] = {
    FactState.SEEN: "mined",
    FactState.CONFIRMED: "confirmed",
    FactState.REVERTED: "reverted",
}


def decide(
    swap: Swap | None,
    payout: PayoutFact,
    *,
    at: datetime,
    treasury: str | None,
    standalone_intent: Intent | None = None,
    refuel_id: int | None = None,
) -> Changes:
    """Return what the log changes, or nothing when it is not newer than what is known.

    :param treasury: where the token is held; None for a token that is not booked here.
    :param standalone_intent: the payment with that id, if it belongs to no swap.
    :param refuel_id: what the Treasury accepts once for the swap's refuel, if it has one.
    """
    intent = standalone_intent or _paid_by(swap, payout)
    if intent is None or not _explains(intent, payout):
        return _halt_unexplained(payout, treasury)
    if payout.version <= intent.version:
        return NOTHING
    return _apply_fact(swap, intent, payout, at=at, treasury=treasury, refuel_id=refuel_id)


def confirm_external_payment(
    swap: Swap | None,
    intent: Intent,
    payout: PayoutFact,
    *,
    at: datetime,
    treasury: str,
    refuel_id: int | None = None,
) -> Changes:
    """Return the changes when an external transaction has made a payment as it was ordered.

    The transaction is final, no attempt can make the payment any more, and its log is booked as
    unexplained.
    """
    newer_payout = replace(payout, version=intent.version + 1)
    # A payment that waits for a nonce counts as sent at the time of its block.
    left = replace(intent, slot_at=intent.slot_at or payout.block_time)
    done = _apply_fact(swap, left, newer_payout, at=at, treasury=treasury, refuel_id=refuel_id)
    return replace(
        done.with_cause(ChangeCause.PAYMENT_RECONCILED),
        ledger=(*done.ledger, ledger.book_reconciled_payout(newer_payout, treasury)),
    )


def fail_spent_payment(swap: Swap, intent: Intent, *, at: datetime, because: str) -> Changes:
    """Return the changes when a payment's id at the Treasury was spent on another payment.

    The payment can never be made under that id: its money is claimable. A refund address that is
    set later gets it back, as after every end but a rejection; a known one does not.
    """
    reason = swap.fail_reason or FailReason.DESTINATION_UNAVAILABLE
    change = abandon_payment(swap, intent.id, at=at, because=because, failures=0, fails_for=reason)
    return change.with_cause(ChangeCause.PAYMENT_RECONCILED)


def leave_to_operators(
    swap: Swap | None, intent: Intent, payout: PayoutFact, *, at: datetime
) -> Changes:
    """Return the changes when a payment's id was spent and an operator has to settle the debt.

    The payment is neither retried nor abandoned.
    """
    left = replace(intent, state=IntentState.BROADCAST, slot_at=intent.slot_at or payout.block_time)
    if swap is None:
        return Changes(intents=(left,))
    done = complete(_settled_with(swap, left, at), at=at)
    return changes_of(swap, done, ChangeCause.PAYMENT_RECONCILED)


def _apply_fact(
    swap: Swap | None,
    intent: Intent,
    payout: PayoutFact,
    *,
    at: datetime,
    treasury: str | None,
    refuel_id: int | None,
) -> Changes:
    if intent.state is IntentState.CONFIRMED:
        return _payout_after_end(swap, intent, payout, at)
    if (in_none := _in_no_block(intent, payout)) is not None:
        return _to_changes(swap, in_none, "reverted", at)
    if swap is None:
        return _standalone_in_a_block(intent, payout, at, treasury)
    done = _in_a_block(swap, intent, payout, at, treasury)
    if intent.kind is IntentKind.OUTPUT:
        if intent.state is not IntentState.MINED and refuel_id is not None:
            done = order(done, at=at, paid_id=refuel_id)
        done = claim(done)
    cause = cause_of_payment(intent.kind, STEPS[payout.state])
    return changes_of(swap, complete(done, at=at), cause)


def _in_a_block(
    swap: Swap, intent: Intent, payout: PayoutFact, at: datetime, treasury: str | None
) -> SettledStep:
    if payout.state is FactState.SEEN:
        return _settled_with(swap, _with_block(intent, payout, IntentState.MINED), at)
    confirmed, final = _final(intent, payout, at, treasury)
    leg, paid = confirmed.deposit_id, swap.on(at).with_intent(confirmed)
    if leg is None and intent.kind is IntentKind.REFUND:
        paid = replace(paid.with_trigger(Trigger.REFUND_CONFIRMED), closed_at=at)
    reorged_out = paid.reorged_out_of(leg) if paid.is_paid_for(confirmed) else ()
    earned = ledger.partner_fee_earned(paid, confirmed) if intent.kind is IntentKind.OUTPUT else ()
    lost = (ledger.deposit_lost(paid, d, leg) for d in reorged_out)
    return SettledStep(paid, (confirmed,), (final, *earned, *lost))


def _standalone_in_a_block(
    intent: Intent, payout: PayoutFact, at: datetime, treasury: str | None
) -> Changes:
    if payout.state is FactState.SEEN:
        return Changes(intents=(_with_block(intent, payout, IntentState.MINED),))
    confirmed, final = _final(intent, payout, at, treasury)
    return Changes(intents=(confirmed,), ledger=(final,))


def _final(
    intent: Intent, payout: PayoutFact, at: datetime, treasury: str | None
) -> tuple[Intent, LedgerTransaction]:
    assert treasury is not None, "a payout is of a token of the catalogue"
    confirmed = replace(_with_block(intent, payout, IntentState.CONFIRMED), confirmed_at=at)
    final = ledger.payout_final(confirmed, block_number=payout.block_number, treasury=treasury)
    return confirmed, final


def mark_sent(swap: Swap, intent_id: UUID, *, at: datetime) -> Changes:
    """Return the changes when the nodes have the payment; none when more is known."""
    return _mark_sent(swap, swap.intents.get(intent_id), at)


def mark_standalone_sent(intent: Intent, *, at: datetime) -> Changes:
    """Return the same for a payment that belongs to no swap."""
    return _mark_sent(None, intent, at)


def _mark_sent(swap: Swap | None, intent: Intent | None, at: datetime) -> Changes:
    if intent is None or intent.state is not IntentState.ASSIGNED:
        return NOTHING
    if swap is None:
        return Changes(intents=(replace(intent, state=IntentState.BROADCAST),))
    if intent.kind is IntentKind.GASLESS:
        return mark_relay_broadcast(swap, intent, at=at)
    done = _settled_with(swap, replace(intent, state=IntentState.BROADCAST), at)
    return changes_of(swap, complete(done, at=at), cause_of_payment(intent.kind, "sent"))


def abandon_payment(
    swap: Swap,
    intent_id: UUID,
    *,
    at: datetime,
    because: str,
    failures: int,
    fails_for: FailReason | None = None,
) -> Changes:
    """Return the changes when the payment is proven dead and is not tried again.

    :param fails_for: why no refund starts automatically: an operator decides about the money.
    """
    intent = swap.intents.get(intent_id)
    if intent is None or intent.state in (IntentState.MINED, IntentState.CONFIRMED):
        return NOTHING
    dead = intent.as_dead(because, failures=failures)
    undone = release_payment(swap.on(at).with_intent(dead), dead)
    freed = undone.swap
    is_reorged_out = freed.is_paid_for(dead) and bool(freed.reorged_out_of(dead.deposit_id))
    if is_reorged_out:
        done = _without(freed, dead, at)
    elif fails_for and dead.deposit_id is None and dead.kind in ENDED_WITH_THE_SWAP:
        done = fail(freed, fails_for, at)
    else:
        done = _end_payment(freed, dead, at)
    done = done.preceded_by(*undone.entries, intents=(dead, *undone.intents))
    return changes_of(swap, done, cause_of_payment(dead.kind, "abandoned"))


def abandon_standalone_intent(intent: Intent, *, because: str, failures: int) -> Changes:
    """Return the same of a payment that is no swap's: what it paid is owed again."""
    if intent.state in (IntentState.MINED, IntentState.CONFIRMED):
        return NOTHING
    dead = intent.as_dead(because, failures=failures)
    is_fee = dead.kind is IntentKind.PARTNER_FEE
    entry = ledger.partner_fee_released(dead) if is_fee else ledger.claim_released(dead)
    return Changes(intents=(dead,), ledger=(entry,))


def _end_payment(swap: Swap, dead: Intent, at: datetime) -> SettledStep:
    """Refund a payout that cannot be made; make a refund that cannot be made claimable."""
    if dead.kind is IntentKind.CLAIM:
        return SettledStep(swap)
    if dead.kind is IntentKind.REFUEL:
        return complete(forget(swap, dead) or claim(SettledStep(swap)), at=at)
    if dead.kind is IntentKind.OUTPUT:
        return refund_or_fail(swap, FailReason.DESTINATION_UNAVAILABLE, at)
    if dead.deposit_id is not None:
        return SettledStep(swap)
    assert swap.fail_reason is not None, "a swap is refunded for a reason"
    return fail(swap, swap.fail_reason, at)


def _without(swap: Swap, dead: Intent, at: datetime) -> SettledStep:
    """End a payment after a reorg removed its deposit: nothing is owed for it."""
    leg, done = dead.deposit_id, SettledStep(swap)
    refuel = swap.refuel
    if leg is None and refuel is not None and refuel.charged_base_units:
        free = replace(refuel, charged_base_units=0)
        lost = ledger.refuel_lost(swap, refuel)
        done = SettledStep(swap.with_intent(free), (free,), (lost,))
    for deposit in swap.reorged_out_of(leg):
        entries = list(done.entries)
        if leg is not None or dead.kind is IntentKind.CLAIM:
            entries.append(ledger.claim_reversed(swap, deposit, leg, version=deposit.version))
        reversed_credit = reverse_credit(done.swap, deposit, version=deposit.version)
        done = reversed_credit.preceded_by(*entries, intents=done.intents)
        # A deposit that is seen again is credited again when it is final.
        left = replace(done.swap.deposits[deposit.id], state=deposit.state)
        done = replace(done, swap=done.swap.with_deposit(left))
    if leg is not None or swap.status is Status.FAILED:
        return done
    return replace(done, swap=reopen(done.swap, at))


def _paid_by(swap: Swap | None, payout: PayoutFact) -> Intent | None:
    intents = () if swap is None else swap.intents.values()
    key = (payout.network, payout.paid_id)
    return next((i for i in intents if (i.network, i.paid_id) == key), None)


def is_as_ordered(intent: Intent, payout: PayoutFact) -> bool:
    """Whether the log pays what the intent orders, whichever transaction made it."""
    ordered = (intent.token, intent.to_address, intent.base_units)
    return ordered == (payout.token, payout.to_address, payout.base_units)


def _explains(intent: Intent, payout: PayoutFact) -> bool:
    return payout.transaction_hash in intent.attempts and is_as_ordered(intent, payout)


def _halt_unexplained(payout: PayoutFact, treasury: str | None) -> Changes:
    reason = f"payment {payout.paid_id} in {payout.transaction_hash} is not one we ordered"
    halt = Halt(payout.network, reason, is_evidence=True, at=payout.block_time)
    if payout.state is not FactState.CONFIRMED or treasury is None:
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


def _payout_after_end(
    swap: Swap | None, intent: Intent, payout: PayoutFact, at: datetime
) -> Changes:
    """Keep a final payment final; halt where a reorg below finality removed it, for an operator.

    Without its block it counts as unmined: the lane sends the same bytes again.
    """
    step = STEPS[payout.state]
    if payout.state is not FactState.REVERTED:
        return _to_changes(swap, _with_block(intent, payout, IntentState.CONFIRMED), step, at)
    unmined = replace(_without_block(intent, payout), transaction_hash=intent.transaction_hash)
    reason = f"final payment {payout.paid_id} in {payout.transaction_hash} was reverted"
    return replace(_to_changes(swap, unmined, step, at), halt=Halt(payout.network, reason))


def _in_no_block(intent: Intent, payout: PayoutFact) -> Intent | None:
    """Return a payment that no known block has; None for one that a block has."""
    if payout.state is FactState.REVERTED:
        return _without_block(intent, payout)
    is_dead = intent.state is IntentState.RESERVED and not intent.has_open_attempt
    if payout.state is FactState.SEEN and is_dead:
        # A late message: at a final block the lane has proven the attempt dead already.
        return replace(intent, version=payout.version)
    return None


def _settled_with(swap: Swap, intent: Intent, at: datetime) -> SettledStep:
    return SettledStep(swap.on(at).with_intent(intent), (intent,))


def _to_changes(swap: Swap | None, intent: Intent, step: PaymentStep, at: datetime) -> Changes:
    if swap is None:
        return Changes(intents=(intent,))
    return changes_of(swap, _settled_with(swap, intent, at), cause_of_payment(intent.kind, step))


def _with_block(intent: Intent, payout: PayoutFact, state: IntentState) -> Intent:
    return replace(
        intent,
        state=state,
        version=payout.version,
        transaction_hash=payout.transaction_hash,
        block_number=payout.block_number,
        block_hash=payout.block_hash,
        block_time=payout.block_time,
    )


def _without_block(intent: Intent, payout: PayoutFact) -> Intent:
    """Return a payment after a reorg removed its block: its broadcast bytes may be mined again.

    Where the lane has proven its attempts dead meanwhile, the payment is reserved again.
    """
    unmined = IntentState.BROADCAST if intent.has_open_attempt else IntentState.RESERVED
    return replace(
        intent,
        state=unmined if intent.state is IntentState.MINED else intent.state,
        version=payout.version,
        transaction_hash=None,
        block_number=None,
        block_hash=None,
        block_time=None,
    )
