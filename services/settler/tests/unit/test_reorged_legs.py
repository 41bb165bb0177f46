"""A reorg removes a deposit: reversals, losses, and decisions of an operator."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    HOUR,
    LATER,
    NOON,
    PLENTY,
    REFUEL,
    REQUESTED,
    USER,
    a_deposit_fact,
    a_payout,
    a_swap,
    output_of,
    swap_of,
    with_signed_attempts,
)
from swap_domain.lifecycle import Status
from swap_settler.model.changes import Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.swap import DepositState, Intent, IntentKind, IntentState, Swap
from swap_settler.settling.decide import deposits, payouts
from swap_settler.settling.decide.deposits import NotReversible
from swap_settler.settling.decide.refunds import start
from swap_settler.settling.decide.requotes import RequoteRefusal, refuse

EXCESS = 300
DEPOSIT_REORGED_OUT = "a reorg took the deposit before anything could pay for it"
DEPOSIT_ID = a_deposit_fact().deposit.id


def paid_for(*, refuel: bool = False) -> Swap:
    swap = a_swap(refund_address=USER, refuel=refuel)
    resources = {"available": PLENTY, "paid_id": 1, "refuel_available": REFUEL}
    return swap_of(deposits.decide(swap, a_deposit_fact(), at=NOON, **resources))  # type: ignore[arg-type]


def reverted(swap: Swap, *, units: int = REQUESTED, nth: int = 0) -> Changes:
    fact = a_deposit_fact("reverted", units=units, nth=nth)
    return deposits.decide(swap, fact, at=DEADLINE, available=0, paid_id=1)


def with_refuel(refuel: Intent) -> Swap:
    """Return a swap with a refuel; its output is proven dead, and may be paid again."""
    swap = paid_for(refuel=True)
    return swap.with_intent(replace(refuel, kind=IntentKind.REFUEL))


class TestARefuelBesideIt:
    REFUEL = replace(output_of(paid_for()), id=DEPOSIT_ID, charged_base_units=1)

    def test_that_was_sent_is_for_an_operator(self) -> None:
        swap = with_refuel(with_signed_attempts(self.REFUEL))

        with pytest.raises(NotReversible) as refused:
            reverted(swap)

        assert str(refused.value) == f"{DEPOSIT_ID} of {swap.id}: its refuel was sent"

    def test_that_was_not_sent_ends_with_the_output(self) -> None:
        swap = with_refuel(self.REFUEL)

        change = reverted(swap)

        assert {one.kind for one in change.intents} == {IntentKind.OUTPUT, IntentKind.REFUEL}
        assert {one.state for one in change.intents} == {IntentState.DEAD}
        assert change.intents[0] == output_of(swap).as_dead(DEPOSIT_REORGED_OUT)
        assert swap_of(change).status is Status.DEPOSIT_PENDING

    def test_is_not_touched_by_a_deposit_on_its_own_leg(self) -> None:
        swap = with_refuel(with_signed_attempts(self.REFUEL))
        late = a_deposit_fact(nth=1, units=9)
        both = swap_of(deposits.decide(swap, late, at=NOON, available=0, paid_id=1))

        change = reverted(both, nth=1, units=9)

        assert [entry.kind for entry in change.ledger] == ["claim_reversed", "credit_reversed"]
        assert swap_of(change).refuel == swap.refuel


def split() -> Swap:
    """Return a swap that used a part of its deposit; the refund of the rest is in flight."""
    more = a_deposit_fact(units=REQUESTED + EXCESS)
    resources = {"available": PLENTY, "paid_id": 1}
    swap = a_swap(refund_address=USER)
    late = swap_of(deposits.decide(swap, more, at=NOON, **resources))  # type: ignore[arg-type]
    filled = swap_of(refuse(late, RequoteRefusal.ABOVE_MAXIMUM, at=NOON, **resources))  # type: ignore[arg-type]
    return swap_of(start(filled, DEPOSIT_ID, at=NOON, cost=0, paid_id=2))


def settled(swap: Swap, *, main: IntentState, own: IntentState) -> Swap:
    refund = swap.refund(DEPOSIT_ID)
    assert refund is not None
    return swap.with_intent(with_signed_attempts(output_of(swap), state=main)).with_intent(
        with_signed_attempts(refund, state=own)
    )


LATE = a_deposit_fact(nth=1, units=900).deposit.id


def paid_back() -> Swap:
    """Return a swap with a refund of a late deposit that is not final."""
    swap = paid_for()
    out = swap.with_intent(with_signed_attempts(output_of(swap)))
    late = a_deposit_fact(nth=1, units=900)
    both = swap_of(deposits.decide(out, late, at=NOON, available=0, paid_id=1))
    back = swap_of(start(both, LATE, at=NOON, cost=0, paid_id=2))
    refund = back.refund(LATE)
    assert refund is not None
    return back.with_intent(with_signed_attempts(refund))


def refund_final(swap: Swap) -> Changes:
    refund = swap.refund(LATE)
    assert refund is not None
    paid = {"network": ETHEREUM, "token": refund.token, "to_address": USER, "base_units": "900"}
    log = replace(a_payout(**paid), paid_id=2)
    return payouts.decide(swap, log, at=NOON, treasury="0xtreasury")


class TestADepositOnItsOwnLeg:
    def test_that_a_reorg_took_is_a_loss_of_that_leg_once_it_is_sent_back(self) -> None:
        after_reorg = swap_of(reverted(paid_back(), units=900, nth=1))

        change = refund_final(after_reorg)

        assert [entry.kind for entry in change.ledger] == ["refund_final", "lost"]
        assert change.ledger[1] == ledger.deposit_lost(
            after_reorg, after_reorg.deposits[LATE], LATE
        )

    def test_that_is_refunded_earns_no_partner_fee(self) -> None:
        swap = paid_back()
        document = json.loads(swap.quote.document) | {"partner_fee_base_units": "70"}
        charged = replace(swap, quote=replace(swap.quote, document=json.dumps(document)))

        assert [entry.kind for entry in refund_final(charged).ledger] == ["refund_final"]

    def test_is_recovered_on_that_leg_when_it_is_mined_again(self) -> None:
        lost = swap_of(refund_final(swap_of(reverted(paid_back(), units=900, nth=1))))
        again = a_deposit_fact("confirmed", version=5, nth=1, units=900)

        change = deposits.decide(lost, again, at=NOON, available=0, paid_id=1)

        after = swap_of(change)
        assert change.ledger == (ledger.deposit_recovered(after, after.deposits[LATE], LATE),)

    def test_that_is_only_seen_again_is_seen_when_its_refund_is_abandoned(self) -> None:
        swap = paid_back()
        seen = replace(swap.deposits[LATE], state=DepositState.SEEN, version=4)
        refund = swap.refund(LATE)
        assert refund is not None
        unsigned = replace(refund, state=IntentState.RESERVED, has_open_attempt=False)
        after_reorg = swap.with_deposit(seen).with_intent(unsigned)

        change = payouts.abandon_payment(
            after_reorg, refund.id, at=NOON, because="dead", failures=0
        )

        left = swap_of(change).deposits[LATE]
        assert (left.state, left.is_booked) == (DepositState.SEEN, False)


class TestBothPartsOfADeposit:
    def test_are_a_loss_each_once_both_are_paid(self) -> None:
        swap = settled(split(), main=IntentState.CONFIRMED, own=IntentState.CONFIRMED)
        known = swap.deposits[DEPOSIT_ID]

        change = reverted(swap, units=REQUESTED + EXCESS)

        deposit = replace(known, version=3)
        after = swap_of(change)
        assert change.ledger == (
            ledger.deposit_lost(after, deposit),
            ledger.deposit_lost(after, deposit, DEPOSIT_ID),
        )
        assert [p.base_units for entry in change.ledger for p in entry.postings] == [
            REQUESTED,
            -REQUESTED,
            EXCESS,
            -EXCESS,
        ]
        assert after.deposits[DEPOSIT_ID].state is DepositState.REVERTED

    @pytest.mark.parametrize(
        ("main", "own"),
        [
            (IntentState.BROADCAST, IntentState.BROADCAST),
            (IntentState.CONFIRMED, IntentState.BROADCAST),
            (IntentState.BROADCAST, IntentState.CONFIRMED),
        ],
    )
    def test_are_for_an_operator_while_one_is_out(
        self, main: IntentState, own: IntentState
    ) -> None:
        swap = settled(split(), main=main, own=own)

        with pytest.raises(NotReversible) as refused:
            reverted(swap, units=REQUESTED + EXCESS)

        assert str(refused.value) == f"{DEPOSIT_ID} of {swap.id}"


def test_a_part_that_waited_for_a_quote_leaves_an_hour_to_bring_it_again() -> None:
    part = a_deposit_fact(units=5, block_time=LATER, received_at=LATER)
    waiting = deposits.decide(a_swap(), part, at=LATER, available=PLENTY, paid_id=1)

    change = reverted(swap_of(waiting), units=5)

    left = swap_of(change)
    assert (left.status, left.expires_at) == (Status.DEPOSIT_PENDING, DEADLINE + HOUR)
    assert [entry.kind for entry in change.ledger] == ["credit_reversed"]
    assert left.credited_base_units == 0


def test_reorg_of_a_deposit_after_the_payout_reverses_its_own_leg() -> None:
    swap = paid_for()
    final = replace(
        swap.with_intent(with_signed_attempts(output_of(swap), state=IntentState.CONFIRMED)),
        status=Status.COMPLETED,
    )
    late = a_deposit_fact(nth=1, units=9)
    both = swap_of(deposits.decide(final, late, at=NOON, available=0, paid_id=1))

    change = reverted(both, nth=1, units=9)

    assert [entry.kind for entry in change.ledger] == ["claim_reversed", "credit_reversed"]
    assert swap_of(change).status is Status.COMPLETED
