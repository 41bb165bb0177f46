"""Refunds: they start, are final, are proven dead, or lose their deposit to a reorg."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    NOON,
    PLENTY,
    REQUESTED,
    TREASURY,
    USER,
    a_deposit_fact,
    a_payout,
    a_swap,
    swap_of,
    with_signed_attempts,
)
from swap_domain.lifecycle import Status
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.messages.message_mapping import paid_id_of, refund_id_of
from swap_settler.model.swap import (
    DepositState,
    FailReason,
    Intent,
    IntentKind,
    IntentState,
    Leg,
    Swap,
)
from swap_settler.settling.decide import deposits, payouts
from swap_settler.settling.decide.deposits import NotReversible
from swap_settler.settling.decide.refunds import cost_of, start
from swap_settler.settling.decide.requests import set_refund_address
from swap_settler.settling.decide.requotes import RequoteRefusal, refuse

COST = 190
HASH = "0x" + "11" * 32


def changes_of_fact(
    swap: Swap, state: str = "confirmed", *, available: int = PLENTY, **more: Any
) -> Changes:
    at: datetime = more.pop("at", NOON)
    more.setdefault("received_at", at)
    fact = a_deposit_fact(state, **more)
    return deposits.decide(swap, fact, at=at, available=available, paid_id=paid_id_of(swap))


def started(swap: Swap, leg: Leg = None, *, cost: int = COST) -> Changes:
    return start(swap, leg, at=NOON, cost=cost, paid_id=refund_id_of(swap, leg))


def pending(**more: Any) -> Swap:
    """Return a swap with a deposit that arrived when there was no inventory."""
    return swap_of(changes_of_fact(a_swap(refund_address=USER), available=0, **more))


def refund_of(swap: Swap, leg: Leg = None) -> Intent:
    refund = swap.refund(leg)
    assert refund is not None
    return refund


def out(swap: Swap, leg: Leg = None) -> Swap:
    return swap.with_intent(with_signed_attempts(refund_of(swap, leg), HASH))


def paid(swap: Swap, state: str = "confirmed", leg: Leg = None, **more: Any) -> Changes:
    refund = refund_of(swap, leg)
    log = a_payout(
        state,
        transaction_hash=HASH,
        intent_id=str(refund.paid_id),
        network=refund.network,
        token=refund.token,
        to_address=refund.to_address,
        base_units=str(refund.base_units),
        **more,
    )
    return payouts.decide(swap, log, at=NOON + HOUR, treasury=TREASURY[ETHEREUM])


def kinds(change: Changes) -> list[str]:
    return [entry.kind for entry in change.ledger]


def filled(**more: Any) -> Swap:
    """Return a swap with more than was requested, and without a new quote for it."""
    swap = swap_of(changes_of_fact(a_swap(refund_address=USER), **more))
    change = refuse(
        swap,
        RequoteRefusal.ABOVE_MAXIMUM,
        at=NOON,
        available=PLENTY,
        paid_id=paid_id_of(swap),
    )
    return swap_of(change)


class TestStart:
    def test_charges_the_cost_and_reserves_the_rest(self) -> None:
        change = started(pending())

        [refund] = change.intents
        assert (refund.kind, refund.state) == (IntentKind.REFUND, IntentState.RESERVED)
        assert (refund.base_units, refund.charged_base_units) == (REQUESTED - COST, REQUESTED)
        assert {e.kind: [p.base_units for p in e.postings] for e in change.ledger} == {
            "refund_cost": [COST, -COST],
            "refund_reserved": [REQUESTED - COST, COST - REQUESTED],
        }
        assert change.ledger[0].postings[1].account.kind is AccountKind.GAS_RECOVERED
        assert swap_of(change).status is Status.REFUND_PENDING

    @pytest.mark.parametrize("cost", [REQUESTED, REQUESTED + 1])
    @pytest.mark.fault("M7")
    def test_fails_and_is_claimable_when_it_costs_what_it_returns(self, cost: int) -> None:
        change = started(pending(), cost=cost)

        swap = swap_of(change)
        assert (swap.status, swap.fail_reason) == (Status.FAILED, FailReason.REFUND_BELOW_COST)
        assert kinds(change) == ["claimable"]
        assert started(swap) is NOTHING

    def test_returns_the_last_base_unit_that_is_worth_it(self) -> None:
        [refund] = started(pending(), cost=REQUESTED - 1).intents

        assert refund.base_units == 1

    def test_has_no_effect_a_second_time(self) -> None:
        swap = swap_of(started(pending()))

        assert started(swap) is NOTHING
        assert started(out(swap)) is NOTHING
        assert started(swap_of(paid(out(swap)))) is NOTHING

    @pytest.mark.parametrize("status", [s for s in Status if s is not Status.REFUND_PENDING])
    def test_has_no_effect_on_the_main_leg_in_every_other_status(self, status: Status) -> None:
        assert started(replace(pending(), status=status)) is NOTHING

    def test_has_a_payment_id_of_its_own(self) -> None:
        swap = pending()
        deposit = next(iter(swap.deposits))

        ids = {paid_id_of(swap), refund_id_of(swap, None), refund_id_of(swap, deposit)}
        assert len(ids) == 3

    def test_costs_gas_at_the_prices_of_the_quote_rounded_up(self) -> None:
        swap = a_swap()
        dear = replace(swap, quote=replace(swap.quote, source_native_usd_e18=3000 * 10**18 + 1))

        for_a_dollar = cost_of(swap, gas=95_000, max_fee_per_gas=2 * 10**9, native_decimals=18)
        assert for_a_dollar == 190
        cost = cost_of(dear, gas=95_000, max_fee_per_gas=2 * 10**9, native_decimals=18)
        assert cost == 190 * 3000 + 1


class TestFinal:
    def test_ends_the_swap_as_refunded(self) -> None:
        change = paid(out(swap_of(started(pending()))))

        swap = swap_of(change)
        assert (swap.status, swap.closed_at) == (Status.REFUNDED, NOON + HOUR)
        assert swap.fail_reason is FailReason.INSUFFICIENT_LIQUIDITY
        assert kinds(change) == ["refund_final"]
        custody = change.ledger[0].postings[1].account
        assert (custody.kind, custody.network) == (AccountKind.CUSTODY, ETHEREUM)

    def test_of_a_deposits_own_leg_does_not_change_the_status(self) -> None:
        swap = swap_of(changes_of_fact(replace(a_swap(refund_address=USER), status=Status.EXPIRED)))
        [leg] = swap.deposits

        change = paid(out(swap_of(started(swap, leg)), leg), leg=leg)

        assert swap_of(change).status is Status.EXPIRED
        assert kinds(change) == ["refund_final"]


class TestDead:
    def dead(self, swap: Swap, leg: Leg = None) -> Changes:
        refund = refund_of(swap, leg)
        return payouts.abandon_payment(swap, refund.id, at=NOON, because="it reverted", failures=5)

    def test_refund_is_claimable_and_not_charged(self) -> None:
        change = self.dead(out(swap_of(started(pending()))))

        swap = swap_of(change)
        assert (swap.status, swap.fail_reason) == (
            Status.FAILED,
            FailReason.INSUFFICIENT_LIQUIDITY,
        )
        assert kinds(change) == ["refund_released", "refund_cost_reversed", "claimable"]
        assert change.ledger[-1].postings[0].base_units == REQUESTED

    def test_refund_of_an_own_leg_is_claimable_again(self) -> None:
        swap = swap_of(changes_of_fact(replace(a_swap(refund_address=USER), status=Status.EXPIRED)))
        [leg] = swap.deposits

        change = self.dead(swap_of(started(swap, leg)), leg)

        assert swap_of(change).status is Status.EXPIRED
        claim = change.ledger[-1].postings[1].account
        assert (claim.kind, claim.deposit_id) == (AccountKind.CLAIMABLE, leg)

    def test_payout_is_refunded(self) -> None:
        swap = swap_of(changes_of_fact(a_swap(refund_address=USER)))
        assert swap.output is not None

        change = payouts.abandon_payment(swap, swap.output.id, at=NOON, because="", failures=5)

        assert swap_of(change).status is Status.REFUND_PENDING
        assert swap_of(change).fail_reason is FailReason.DESTINATION_UNAVAILABLE
        assert change.refunds_due == (None,)
        assert swap_of(started(swap_of(change))).output is None

    def test_payout_and_no_other_intent_makes_a_refund_due(self) -> None:
        swap = swap_of(changes_of_fact(a_swap(refund_address=USER)))

        assert started(swap) is NOTHING
        assert started(replace(swap, status=Status.COMPLETED)) is NOTHING


class TestReorg:
    def test_reverses_an_unsigned_refund(self) -> None:
        change = changes_of_fact(swap_of(started(pending())), "reverted")

        swap = swap_of(change)
        assert (swap.status, swap.fail_reason) == (Status.DEPOSIT_PENDING, None)
        assert [i.state for i in change.intents] == [IntentState.DEAD]
        assert kinds(change) == ["refund_released", "refund_cost_reversed", "credit_reversed"]

    def test_takes_back_a_refund_that_was_only_due(self) -> None:
        change = changes_of_fact(pending(), "reverted")

        assert swap_of(change).status is Status.DEPOSIT_PENDING
        assert started(swap_of(change)) is NOTHING

    @pytest.mark.fault("R5")
    def test_r5_is_our_loss_when_the_refund_was_final(self) -> None:
        change = changes_of_fact(swap_of(paid(out(swap_of(started(pending()))))), "reverted")

        assert kinds(change) == ["lost"]
        assert swap_of(change).status is Status.REFUNDED

    @pytest.mark.fault("R5")
    def test_r5_waits_for_the_end_of_a_refund_that_is_out(self) -> None:
        change = changes_of_fact(out(swap_of(started(pending()))), "reverted")

        assert (change.ledger, change.intents) == ((), ())
        assert kinds(paid(swap_of(change))) == ["refund_final", "lost"]

    def test_reverses_the_credit_when_the_signed_refund_fails(self) -> None:
        gone = swap_of(changes_of_fact(out(swap_of(started(pending()))), "reverted"))

        change = TestDead().dead(gone)

        assert swap_of(change).status is Status.DEPOSIT_PENDING
        assert kinds(change)[-1] == "credit_reversed"
        assert [d.is_booked for d in change.deposits] == [False]

    def test_of_one_part_paid_and_another_not_is_for_an_operator(self) -> None:
        swap = filled(units=2 * REQUESTED)
        [leg] = swap.deposits
        half_paid = swap_of(paid(out(swap_of(started(swap, leg)), leg), leg=leg))

        with pytest.raises(NotReversible):
            changes_of_fact(half_paid, "reverted", units=2 * REQUESTED)

    def test_takes_both_parts_back_while_neither_is_paid(self) -> None:
        swap = filled(units=2 * REQUESTED)
        [leg] = swap.deposits
        swap = swap_of(started(swap, leg))

        change = changes_of_fact(swap, "reverted", units=2 * REQUESTED)

        assert swap_of(change).status is Status.DEPOSIT_PENDING
        assert len(change.intents) == 2
        [deposit] = change.deposits
        assert (deposit.returned_base_units, deposit.state) == (0, DepositState.REVERTED)


class TestAddress:
    def test_given_later_sends_back_what_was_claimable(self) -> None:
        failed = swap_of(changes_of_fact(a_swap(), available=0))
        assert failed.status is Status.FAILED

        change = set_refund_address(failed, USER, at=NOON)

        swap = swap_of(change)
        assert (swap.status, swap.closed_at) == (Status.REFUND_PENDING, None)
        assert change.refunds_due == (None,)
        assert kinds(change) == ["unclaimed"]
        assert started(swap).intents[0].to_address == USER

    def test_given_later_sends_back_what_stands_on_its_own(self) -> None:
        expired = swap_of(changes_of_fact(replace(a_swap(), status=Status.EXPIRED)))
        [leg] = expired.deposits

        change = set_refund_address(expired, USER, at=NOON)

        assert change.refunds_due == (leg,)
        assert swap_of(change).status is Status.EXPIRED
        assert kinds(started(swap_of(change), leg)) == [
            "unclaimed",
            "refund_cost",
            "refund_reserved",
        ]

    def test_stays_the_first(self) -> None:
        assert set_refund_address(pending(), "0x" + "77" * 20, at=NOON) is NOTHING
