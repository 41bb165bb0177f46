"""What a fact about a deposit does. Pure: the unit of work has loaded, and will save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Final, Unpack
from uuid import UUID

from swap_domain.lifecycle import Status
from swap_settler.gasless.decide.relaying import with_authorization_progress, without_idle_relay
from swap_settler.model.chain_facts import DepositFact, FactState
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.ledger.accounts import LedgerTransaction
from swap_settler.model.settled_step import PayoutResources, SettledStep, changes_of
from swap_settler.model.swap import Deposit, DepositState, Intent, IntentState, Leg, Swap
from swap_settler.settling.decide.main_leg import (
    lock_quote,
    move_to_own_leg,
    reopen,
    reverse_credit,
    settle,
    unlock_quote,
    with_time,
)
from swap_settler.settling.decide.refunds import release_payment

CAUSES: Final = {
    FactState.SEEN: ChangeCause.DEPOSIT_SEEN,
    FactState.CONFIRMED: ChangeCause.DEPOSIT_CONFIRMED,
    FactState.REVERTED: ChangeCause.DEPOSIT_REVERTED,
}


class NotReversible(Exception):
    """A reorg removed a deposit, and an operator has to decide.

    Only a part of it is paid out, or it was returned to an owner without a swap.
    """


class StillBooked(Exception):
    """A deposit names another swap than before, while it is booked for the first one."""


class PaymentProgress(Enum):
    """How far the payment of a leg is."""

    NOT = "not"  # and nothing that was signed can pay it
    POSSIBLE = "perhaps"  # signed bytes are out
    FINAL = "final"


def decide(
    swap: Swap, fact: DepositFact, *, at: datetime, **resources: Unpack[PayoutResources]
) -> Changes:
    """Return what the fact changes; nothing when its version is not newer than the stored one."""
    known = swap.deposits.get(fact.deposit.id)
    if known is not None and known.version >= fact.deposit.version:
        return NOTHING
    deposit = replace(_merge_decided(known, fact.deposit), swap_id=swap.id)
    updated_swap = with_authorization_progress(swap.on(at), deposit, fact.state)
    match fact.state:
        case FactState.SEEN:
            done = _apply_seen(updated_swap, deposit, known, at)
        case FactState.CONFIRMED:
            done = _apply_confirmed(updated_swap, deposit, at, **resources)
        case FactState.REVERTED:
            done = _reorged_out(updated_swap, deposit, known, at)
    return changes_of(swap, without_idle_relay(done), CAUSES[fact.state])


def attach(
    swap: Swap, waiting: Sequence[Deposit], *, at: datetime, **resources: Unpack[PayoutResources]
) -> Changes:
    """Return the changes when deposits arrived before their swap, as one fact."""
    updated_swap = swap.on(at)
    for deposit in waiting:
        updated_swap = updated_swap.with_deposit(replace(deposit, swap_id=swap.id))
    entries = tuple(
        ledger.deposit_matched(swap, deposit) for deposit in waiting if deposit.is_booked
    )
    done = SettledStep(lock_quote(updated_swap, at))
    if entries:
        done = settle(done.swap, at, **resources)
    return changes_of(swap, done.preceded_by(*entries), ChangeCause.DEPOSIT_MATCHED)


def take(
    swap: Swap,
    waiting: Deposit,
    *,
    since: datetime,
    at: datetime,
    cause: ChangeCause,
    **resources: Unpack[PayoutResources],
) -> Changes:
    """Return the changes when a deposit without a swap is proved to be this one's.

    From then on it is treated as a deposit that arrived at the attachment.

    :param cause: who attached it.
    """
    own_deposit = replace(waiting, swap_id=swap.id, attached_at=since)
    updated_swap = swap.on(at)
    if own_deposit.is_booked:
        done = _credit(
            updated_swap, own_deposit, at, ledger.deposit_matched(swap, own_deposit), **resources
        )
    else:
        done = _apply_seen(updated_swap, own_deposit, None, at)
    return changes_of(swap, without_idle_relay(done), cause)


def require_released(swap: Swap, deposit_id: UUID) -> None:
    """Make sure that another swap may have a deposit that was this swap's.

    Providers may correct a memo, which no log of a token fixes, and they revert the deposit first.

    :raises StillBooked: when it is booked here, and not as a loss of what was paid for it.
    """
    known = swap.deposits[deposit_id]
    if not known.is_booked:
        return
    paid = {_payment_progress(swap, leg) for leg in _legs(known)}
    if known.state is not DepositState.REVERTED or paid != {PaymentProgress.FINAL}:
        raise StillBooked(f"{deposit_id} is booked for swap {swap.id} until its payment has ended")


def decide_unmatched(
    known: Deposit | None, fact: DepositFact, *, is_ours: bool, claim: Intent | None = None
) -> Changes:
    """Return what a fact changes about an unsolicited movement.

    :param is_ours: whether it is a catalogue's token in our custody; else it is only recorded.
    :param claim: the live payment of it by an operator's order.
    :raises NotReversible: when a reorg took what was sent, or is being sent, to its owner.
    """
    if known is not None and known.version >= fact.deposit.version:
        return NOTHING
    deposit = _merge_decided(known, fact.deposit)
    if fact.state is not FactState.CONFIRMED:
        return _not_final(known, deposit, fact.state, claim)
    if not is_ours:
        return Changes(deposits=(deposit,))
    is_kept = deposit.state is DepositState.QUARANTINED
    final = replace(
        deposit,
        state=DepositState.QUARANTINED if is_kept else DepositState.CREDITED,
        is_booked=True,
    )
    return Changes(
        deposits=(final,), ledger=() if deposit.is_booked else (ledger.deposit_received(final),)
    )


def _not_final(
    known: Deposit | None, deposit: Deposit, fact_state: FactState, claim: Intent | None
) -> Changes:
    """Record what is seen, or gone; what was booked as final before is reversed."""
    state = DepositState.REVERTED if fact_state is FactState.REVERTED else deposit.state
    updated_deposit = replace(deposit, state=state, is_booked=False)
    if known is None or not known.is_booked:
        return Changes(deposits=(updated_deposit,))
    entry = ledger.receipt_reversed(known, version=deposit.version)
    if claim is None:
        return Changes(deposits=(updated_deposit,), ledger=(entry,))
    if not claim.is_revocable:
        raise NotReversible(f"{known.id}, which was sent to its owner")
    dead = claim.as_dead("a reorg took the deposit before anything could pay for it")
    entries = (ledger.claim_released(dead), entry)
    return Changes(deposits=(updated_deposit,), intents=(dead,), ledger=entries)


def _merge_decided(known: Deposit | None, updated_deposit: Deposit) -> Deposit:
    """Return the newer fact with the decisions that are stored with the older one."""
    if known is None:
        return updated_deposit
    return replace(
        updated_deposit,
        swap_id=known.swap_id,
        is_booked=known.is_booked,
        returned_base_units=known.returned_base_units,
        received_at=known.received_at,
        attached_at=known.attached_at,
    )


def _apply_seen(swap: Swap, deposit: Deposit, known: Deposit | None, at: datetime) -> SettledStep:
    before = SettledStep(swap)
    if known is not None and known.state is DepositState.CREDITED:
        # No longer final: a reorg removed it, and the message about that is late or missing.
        before = _reorged_out(swap, deposit, known, at)
        left = before.swap.deposits[deposit.id]
        deposit = replace(
            deposit, is_booked=left.is_booked, returned_base_units=left.returned_base_units
        )
    seen = before.swap.with_deposit(replace(deposit, state=DepositState.SEEN))
    is_waiting = seen.status is Status.DEPOSIT_PENDING
    return replace(before, swap=lock_quote(seen, at) if is_waiting else seen)


def _apply_confirmed(
    swap: Swap, deposit: Deposit, at: datetime, **resources: Unpack[PayoutResources]
) -> SettledStep:
    if not deposit.is_booked:
        credit = ledger.deposit_credited(swap, deposit)
        return _credit(swap, deposit, at, credit, **resources)
    # Mined again, and never taken back: it is the same credit.
    again = replace(deposit, state=DepositState.CREDITED)
    known = swap.deposits[deposit.id]
    is_loss = known.state is not DepositState.CREDITED
    lost = [
        leg
        for leg in _legs(known)
        if is_loss and _payment_progress(swap, leg) is PaymentProgress.FINAL
    ]
    entries = tuple(ledger.deposit_recovered(swap, again, leg) for leg in lost)
    return SettledStep(swap.with_deposit(again), entries=entries)


def _credit(
    swap: Swap,
    deposit: Deposit,
    at: datetime,
    credit: LedgerTransaction,
    **resources: Unpack[PayoutResources],
) -> SettledStep:
    own_deposit = replace(deposit, state=DepositState.CREDITED, is_booked=True)
    if swap.status is not Status.DEPOSIT_PENDING:
        return move_to_own_leg(swap, own_deposit, own_deposit.base_units).preceded_by(credit)
    funded = lock_quote(swap.with_deposit(own_deposit), at)
    return settle(funded, at, **resources).preceded_by(credit)


def _reorged_out(swap: Swap, deposit: Deposit, known: Deposit | None, at: datetime) -> SettledStep:
    if known is None or not known.is_booked:
        gone = swap.with_deposit(replace(deposit, state=DepositState.REVERTED))
        if swap.status is not Status.DEPOSIT_PENDING:
            return SettledStep(gone)
        return SettledStep(with_time(unlock_quote(gone), at))
    legs = _legs(known)
    paid = {_payment_progress(swap, leg) for leg in legs}
    has_refuel_out = None in legs and swap.refuel is not None and not swap.refuel.is_revocable
    if paid == {PaymentProgress.NOT} and has_refuel_out:
        raise NotReversible(f"{known.id} of {swap.id}: its refuel was sent")
    if paid == {PaymentProgress.NOT}:
        return _reverse_unpaid(swap, known, version=deposit.version, at=at)
    if len(paid) > 1 or (known.is_split and PaymentProgress.POSSIBLE in paid):
        raise NotReversible(f"{known.id} of {swap.id}")
    # Once signed bytes are out, the end of the payment decides what this was.
    is_loss = paid == {PaymentProgress.FINAL} and known.state is DepositState.CREDITED
    updated_deposit = replace(known, version=deposit.version)
    entries = (
        tuple(ledger.deposit_lost(swap, updated_deposit, leg) for leg in legs) if is_loss else ()
    )
    reorged_out_deposit = replace(deposit, state=DepositState.REVERTED)
    return SettledStep(swap.with_deposit(reorged_out_deposit), entries=entries)


def _reverse_unpaid(swap: Swap, known: Deposit, *, version: int, at: datetime) -> SettledStep:
    """Reverse a credit that nothing was sent for, with the payments that were planned."""
    freed = swap
    intents: list[Intent] = []
    entries: list[LedgerTransaction] = []
    for leg in _legs(known):
        intent = _payment(freed, leg)
        if intent is not None:
            dead = intent.as_dead("a reorg took the deposit before anything could pay for it")
            freed = freed.with_intent(dead)
            undone = release_payment(freed, dead)
            freed = undone.swap
            intents += (dead, *undone.intents)
            entries += undone.entries
        if leg is not None or swap.status is Status.FAILED:
            entries.append(ledger.claim_reversed(freed, known, leg, version=version))
    done = reverse_credit(freed, known, version=version).preceded_by(
        *entries, intents=tuple(intents)
    )
    if not known.main_base_units:
        return done
    match swap.status:
        case Status.DEPOSIT_PENDING:
            return replace(done, swap=with_time(unlock_quote(done.swap), at))
        case Status.PAYOUT_PENDING | Status.REFUND_PENDING:
            return replace(done, swap=reopen(done.swap, at))
        case _:
            return done


def _legs(deposit: Deposit) -> tuple[Leg, ...]:
    """Return the legs that a deposit stands on."""
    main: tuple[Leg, ...] = (None,) if deposit.main_base_units else ()
    return (*main, deposit.id) if deposit.returned_base_units else main


def _payment(swap: Swap, leg: Leg) -> Intent | None:
    return swap.paying if leg is None else swap.refund_of(leg)


def _payment_progress(swap: Swap, leg: Leg) -> PaymentProgress:
    intent = _payment(swap, leg)
    if intent is None or intent.is_revocable:
        return PaymentProgress.NOT
    return (
        PaymentProgress.FINAL if intent.state is IntentState.CONFIRMED else PaymentProgress.POSSIBLE
    )
