"""What a fact about a deposit does. Pure: the unit of work has loaded, and will save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from swap_domain.lifecycle import Status
from swap_settler.domain import ledger
from swap_settler.domain.changes import NOTHING, Changes
from swap_settler.domain.facts import DepositFact, Said
from swap_settler.domain.settling import (
    Settled,
    lock_quote,
    settle,
    take_back,
    unlock_quote,
    waits_again,
    with_time,
)
from swap_settler.domain.swap import Deposit, DepositState, Swap


class NotReversible(Exception):
    """A reorg took a deposit whose money is being sent back: nobody has decided about that."""


def decide(swap: Swap, fact: DepositFact, *, at: datetime, available: int, paid_id: int) -> Changes:
    """Return what the fact changes, or nothing when it is not newer than what is known.

    :param available: what the destination's locked inventory can pay.
    :param paid_id: what the Treasury accepts once for this swap's payout.
    """
    known = swap.deposits.get(fact.deposit.id)
    if known is not None and known.version >= fact.deposit.version:
        return NOTHING
    deposit = replace(_after(known, fact.deposit), swap_id=swap.id)
    match fact.said:
        case Said.SEEN:
            done = _seen(swap.on(at), deposit, known, at)
        case Said.CONFIRMED:
            done = _confirmed(swap.on(at), deposit, at, available=available, paid_id=paid_id)
        case Said.REVERTED:
            done = _reverted(swap.on(at), deposit, known, at)
    return _changes(swap, done, deposit)


def attach(
    swap: Swap, waiting: Sequence[Deposit], *, at: datetime, available: int, paid_id: int
) -> Changes:
    """Return what it changes that deposits were there before their swap: one fact for all."""
    told = swap.on(at)
    for deposit in waiting:
        told = told.with_deposit(replace(deposit, swap_id=swap.id))
    entries = tuple(ledger.matched(swap, deposit) for deposit in waiting if deposit.is_booked)
    done = Settled(lock_quote(told, at))
    if entries:
        done = settle(done.swap, at, available=available, paid_id=paid_id)
    return Changes(
        swap=done.swap,
        previous_status=swap.status,
        deposits=tuple(done.swap.deposits[deposit.id] for deposit in waiting),
        intents=done.intents,
        ledger=(*entries, *done.entries),
    )


def decide_unmatched(known: Deposit | None, fact: DepositFact, *, is_ours: bool) -> Changes:
    """Return what a fact changes about a movement that no swap asks for.

    :param is_ours: whether it is a catalogue's token in our custody; else it is only recorded.
    """
    if known is not None and known.version >= fact.deposit.version:
        return NOTHING
    deposit = _after(known, fact.deposit)
    if fact.said is not Said.CONFIRMED:
        return _not_final(known, deposit, fact.said)
    if not is_ours:
        return Changes(deposits=(deposit,))
    is_kept = deposit.state is DepositState.QUARANTINED
    final = replace(
        deposit,
        state=DepositState.QUARANTINED if is_kept else DepositState.CREDITED,
        is_booked=True,
    )
    return Changes(deposits=(final,), ledger=() if deposit.is_booked else (ledger.received(final),))


def _not_final(known: Deposit | None, deposit: Deposit, said: Said) -> Changes:
    """Record what is seen, or gone; what was booked as final before is reversed."""
    state = DepositState.REVERTED if said is Said.REVERTED else deposit.state
    told = replace(deposit, state=state, is_booked=False)
    if known is None or not known.is_booked:
        return Changes(deposits=(told,))
    entry = ledger.received_reverted(known, version=deposit.version)
    return Changes(deposits=(told,), ledger=(entry,))


def _after(known: Deposit | None, told: Deposit) -> Deposit:
    """Return the newest fact with what was decided before."""
    if known is None:
        return told
    return replace(
        told,
        swap_id=known.swap_id,
        is_booked=known.is_booked,
        returned_base_units=known.returned_base_units,
        heard_at=known.heard_at,
    )


def _changes(before: Swap, done: Settled, deposit: Deposit) -> Changes:
    return Changes(
        swap=done.swap,
        previous_status=before.status,
        deposits=(done.swap.deposits[deposit.id],),
        intents=done.intents,
        ledger=done.entries,
    )


def _seen(swap: Swap, deposit: Deposit, known: Deposit | None, at: datetime) -> Settled:
    before = Settled(swap)
    if known is not None and known.state is DepositState.CREDITED:
        # Final no more, so a reorg took it; that was said before and comes late, or never.
        before = _reverted(swap, deposit, known, at)
        left = before.swap.deposits[deposit.id]
        deposit = replace(
            deposit, is_booked=left.is_booked, returned_base_units=left.returned_base_units
        )
    seen = before.swap.with_deposit(replace(deposit, state=DepositState.SEEN))
    is_waiting = seen.status is Status.DEPOSIT_PENDING
    return replace(before, swap=lock_quote(seen, at) if is_waiting else seen)


def _confirmed(
    swap: Swap, deposit: Deposit, at: datetime, *, available: int, paid_id: int
) -> Settled:
    if not deposit.is_booked:
        credit = ledger.credited(swap, deposit)
        return _credit(swap, deposit, at, credit, available=available, paid_id=paid_id)
    # Mined again, and never taken back: it is the same credit.
    again = replace(deposit, state=DepositState.CREDITED)
    is_loss = _is_lost(swap, swap.deposits[deposit.id])
    entries = (ledger.recovered(swap, again),) if is_loss else ()
    return Settled(swap.with_deposit(again), entries=entries)


def _credit(
    swap: Swap,
    deposit: Deposit,
    at: datetime,
    credit: ledger.LedgerTransaction,
    *,
    available: int,
    paid_id: int,
) -> Settled:
    mine = replace(deposit, state=DepositState.CREDITED, is_booked=True)
    if swap.status is not Status.DEPOSIT_PENDING:
        own = replace(mine, returned_base_units=mine.base_units)
        entries = (credit, ledger.returned(swap, own))
        return Settled(swap.with_deposit(own), entries=entries)
    funded = lock_quote(swap.with_deposit(mine), at)
    done = settle(funded, at, available=available, paid_id=paid_id)
    return replace(done, entries=(credit, *done.entries))


def _reverted(swap: Swap, deposit: Deposit, known: Deposit | None, at: datetime) -> Settled:
    if known is None or not known.is_booked:
        gone = swap.with_deposit(replace(deposit, state=DepositState.REVERTED))
        is_waiting = swap.status is Status.DEPOSIT_PENDING
        return Settled(with_time(unlock_quote(gone), at) if is_waiting else gone)
    if known.returned_base_units or swap.status is Status.FAILED:
        claim = ledger.claim_reversed(swap, known, version=deposit.version)
        done = take_back(swap, known, version=deposit.version)
        return replace(done, entries=(claim, *done.entries))
    match swap.status:
        case Status.DEPOSIT_PENDING:
            done = take_back(swap, known, version=deposit.version)
            return replace(done, swap=with_time(unlock_quote(done.swap), at))
        case Status.PAYOUT_PENDING:
            return _reverted_before_payout(swap, deposit, known, at)
        case Status.COMPLETED:
            gone_now = replace(deposit, state=DepositState.REVERTED)
            is_loss = known.state is DepositState.CREDITED
            entries = (ledger.lost(swap, replace(known, version=deposit.version)),)
            return Settled(swap.with_deposit(gone_now), entries=entries if is_loss else ())
        case _:
            raise NotReversible(f"{swap.id} is {swap.status}")


def _reverted_before_payout(swap: Swap, deposit: Deposit, known: Deposit, at: datetime) -> Settled:
    output = swap.output
    if output is None or not output.can_be_taken_back:
        # Signed bytes are out: the end of the payment decides what this was.
        return Settled(swap.with_deposit(replace(deposit, state=DepositState.REVERTED)))
    dead = output.died("a reorg took the deposit before anything could pay for it")
    freed = swap.with_intent(dead)
    done = take_back(freed, known, version=deposit.version)
    entries = (ledger.payout_released(swap, dead), ledger.quote_reversed(swap, dead))
    return Settled(waits_again(done.swap, at), (dead,), (*entries, *done.entries))


def _is_lost(swap: Swap, known: Deposit) -> bool:
    """Whether a loss stands for it: the payout was final while a reorg had taken the deposit."""
    return (
        swap.status is Status.COMPLETED
        and known.state is not DepositState.CREDITED
        and not known.returned_base_units
    )
