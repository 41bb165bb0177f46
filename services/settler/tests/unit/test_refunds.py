"""Deposits that are not what the quote said, as a table, and what becomes of their refunds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    HOUR,
    LATER,
    NOON,
    PAYOUT,
    PLENTY,
    REQUESTED,
    TREASURY,
    USDC,
    USER,
    a_deposit_fact,
    a_payout,
    a_swap,
    signed,
)
from swap_domain.lifecycle import Status
from swap_settler.domain import deposits, expiry, payouts
from swap_settler.domain.accounts import AccountKind
from swap_settler.domain.changes import NOTHING, Changes
from swap_settler.domain.deposits import NotReversible
from swap_settler.domain.refunds import cost_of, start
from swap_settler.domain.requests import set_refund_address
from swap_settler.domain.swap import (
    DepositState,
    FailReason,
    Intent,
    IntentKind,
    IntentState,
    Leg,
    Swap,
)
from swap_settler.usecases.facts import paid_id_of, refund_id_of

COST = 190
HASH = "0x" + "11" * 32


def swap_of(change: Changes) -> Swap:
    assert change.swap is not None
    return change.swap


def told(swap: Swap, state: str = "confirmed", *, available: int = PLENTY, **more: Any) -> Changes:
    at: datetime = more.pop("at", NOON)
    more.setdefault("heard_at", at)
    fact = a_deposit_fact(state, **more)
    return deposits.decide(swap, fact, at=at, available=available, paid_id=paid_id_of(swap))


def started(swap: Swap, leg: Leg = None, *, cost: int = COST) -> Changes:
    return start(swap, leg, at=NOON, cost=cost, paid_id=refund_id_of(swap, leg))


def pending(**more: Any) -> Swap:
    """Return a swap whose money came when nothing could be paid for it."""
    return swap_of(told(a_swap(refund_address=USER), available=0, **more))


def refund_of(swap: Swap, leg: Leg = None) -> Intent:
    refund = swap.refund(leg)
    assert refund is not None
    return refund


def out(swap: Swap, leg: Leg = None) -> Swap:
    return swap.with_intent(signed(refund_of(swap, leg), HASH))


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


@dataclass(frozen=True)
class Case:
    """A row of what may come, one deposit after the other, and where all of it ends."""

    name: str
    deposits: tuple[dict[str, Any], ...]
    with_address: tuple[Status, FailReason | None]
    without_address: tuple[Status, FailReason | None]
    main: int = 0  # what goes back from the main leg
    own: tuple[int, ...] = ()  # what goes back on legs of their own
    is_over: bool = False  # whether the deadline passes after the deposits
    before: Status | None = None  # where the swap is when they come
    available: int = field(default=PLENTY)


LATE = {"at": LATER, "block_time": LATER}
CASES = (
    Case(
        "what was asked for",
        ({},),
        (Status.PAYOUT_PENDING, None),
        (Status.PAYOUT_PENDING, None),
    ),
    Case(
        "a part waits for the rest",
        ({"units": REQUESTED - 1},),
        (Status.DEPOSIT_PENDING, None),
        (Status.DEPOSIT_PENDING, None),
    ),
    Case(
        "parts add up",
        ({"units": REQUESTED - 1}, {"units": 1}),
        (Status.PAYOUT_PENDING, None),
        (Status.PAYOUT_PENDING, None),
    ),
    Case(
        "a part alone at the deadline",
        ({"units": REQUESTED - 1},),
        (Status.REFUND_PENDING, FailReason.RECEIVED_LESS),
        (Status.FAILED, FailReason.RECEIVED_LESS),
        main=REQUESTED - 1,
        is_over=True,
    ),
    Case(
        "somebody's dust moves nothing",
        ({"units": 1},),
        (Status.DEPOSIT_PENDING, None),
        (Status.DEPOSIT_PENDING, None),
    ),
    Case(
        "dust before the money",
        ({"units": 1}, {}),
        (Status.PAYOUT_PENDING, None),
        (Status.PAYOUT_PENDING, None),
        own=(1,),
    ),
    Case(
        "more than asked",
        ({"units": 3 * REQUESTED},),
        (Status.PAYOUT_PENDING, None),
        (Status.PAYOUT_PENDING, None),
        own=(2 * REQUESTED,),
    ),
    Case(
        "after the quote",
        (LATE,),
        (Status.REFUND_PENDING, FailReason.DEGRADED_QUOTE),
        (Status.FAILED, FailReason.DEGRADED_QUOTE),
        main=REQUESTED,
    ),
    Case(
        "more than asked, after the quote",
        ({**LATE, "units": 2 * REQUESTED},),
        (Status.REFUND_PENDING, FailReason.DEGRADED_QUOTE),
        (Status.FAILED, FailReason.DEGRADED_QUOTE),
        main=2 * REQUESTED,
    ),
    Case(
        "more than can be paid",
        ({},),
        (Status.REFUND_PENDING, FailReason.INSUFFICIENT_LIQUIDITY),
        (Status.FAILED, FailReason.INSUFFICIENT_LIQUIDITY),
        main=REQUESTED,
        available=PAYOUT - 1,
    ),
    Case(
        "a second deposit",
        ({}, {"units": 5000}),
        (Status.PAYOUT_PENDING, None),
        (Status.PAYOUT_PENDING, None),
        own=(5000,),
    ),
    *(
        Case(
            f"a deposit on a swap that is {status.value}",
            ({},),
            (status, None),
            (status, None),
            own=(REQUESTED,),
            before=status,
        )
        for status in (Status.EXPIRED, Status.FAILED, Status.COMPLETED, Status.REFUNDED)
    ),
    Case(
        "two deposits on an expired swap",
        ({}, {"units": 7000}),
        (Status.EXPIRED, None),
        (Status.EXPIRED, None),
        own=(7000, REQUESTED),
        before=Status.EXPIRED,
    ),
)


def ended(case: Case, swap: Swap) -> tuple[Swap, list[Leg], list[Changes]]:
    """Return the swap after the row, what is due, and every change."""
    changes: list[Changes] = []
    for nth, more in enumerate(case.deposits):
        changes.append(told(swap, nth=nth, available=case.available, **more))
        swap = swap_of(changes[-1])
    if case.is_over:
        changes.append(expiry.decide(swap, at=DEADLINE + HOUR))
        swap = swap_of(changes[-1])
    return swap, [leg for change in changes for leg in change.refunds_due], changes


class TestDepositsThatAreNotWhatTheQuoteSaid:
    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_go_back_to_the_refund_address(self, case: Case) -> None:
        swap = a_swap(refund_address=USER)
        swap, due, _ = ended(case, replace(swap, status=case.before or swap.status))

        assert (swap.status, swap.fail_reason) == case.with_address
        sent: list[tuple[bool, int]] = []
        for leg in due:
            change = started(swap, leg)
            if change is not NOTHING:
                swap = swap_of(change)
                [refund] = change.intents
                assert (refund.network, refund.token) == (ETHEREUM, USDC[ETHEREUM])
                assert refund.to_address == USER
                assert refund.base_units == refund.charged_base_units - COST
                sent.append((leg is None, refund.charged_base_units))
        worth_it = [(False, units) for units in case.own if units > COST]
        assert sorted(sent) == sorted([(True, case.main)] * bool(case.main) + worth_it)

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_are_claimable_without_one(self, case: Case) -> None:
        swap = a_swap()
        swap, due, changes = ended(case, replace(swap, status=case.before or swap.status))

        assert (swap.status, swap.fail_reason) == case.without_address
        assert due == []
        claims = [
            (posting.account.deposit_id is None, -posting.base_units)
            for change in changes
            for entry in change.ledger
            for posting in entry.postings
            if posting.account.kind is AccountKind.CLAIMABLE
        ]
        own = [(False, units) for units in case.own]
        assert sorted(claims) == sorted([(True, case.main)] * bool(case.main) + own)


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
    def test_fails_and_is_claimable_when_it_costs_what_it_returns(self, cost: int) -> None:
        change = started(pending(), cost=cost)

        swap = swap_of(change)
        assert (swap.status, swap.fail_reason) == (Status.FAILED, FailReason.REFUND_BELOW_COST)
        assert kinds(change) == ["claimable"]
        assert started(swap) is NOTHING

    def test_returns_the_last_base_unit_that_is_worth_it(self) -> None:
        [refund] = started(pending(), cost=REQUESTED - 1).intents

        assert refund.base_units == 1

    def test_is_nothing_a_second_time(self) -> None:
        swap = swap_of(started(pending()))

        assert started(swap) is NOTHING
        assert started(out(swap)) is NOTHING
        assert started(swap_of(paid(out(swap)))) is NOTHING

    @pytest.mark.parametrize("status", [s for s in Status if s is not Status.REFUND_PENDING])
    def test_leaves_the_main_leg_of_every_other_status_alone(self, status: Status) -> None:
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

    def test_of_a_deposits_own_leg_leaves_the_status_alone(self) -> None:
        swap = swap_of(told(replace(a_swap(refund_address=USER), status=Status.EXPIRED)))
        [leg] = swap.deposits

        change = paid(out(swap_of(started(swap, leg)), leg), leg=leg)

        assert swap_of(change).status is Status.EXPIRED
        assert kinds(change) == ["refund_final"]


class TestDead:
    def dead(self, swap: Swap, leg: Leg = None) -> Changes:
        refund = refund_of(swap, leg)
        return payouts.gave_up(swap, refund.id, at=NOON, because="it reverted", failures=5)

    def test_refund_is_claimable_and_nobody_is_charged_for_it(self) -> None:
        change = self.dead(out(swap_of(started(pending()))))

        swap = swap_of(change)
        assert (swap.status, swap.fail_reason) == (
            Status.FAILED,
            FailReason.INSUFFICIENT_LIQUIDITY,
        )
        assert kinds(change) == ["refund_released", "refund_cost_reversed", "claimable"]
        assert change.ledger[-1].postings[0].base_units == REQUESTED

    def test_refund_of_an_own_leg_is_claimable_again(self) -> None:
        swap = swap_of(told(replace(a_swap(refund_address=USER), status=Status.EXPIRED)))
        [leg] = swap.deposits

        change = self.dead(swap_of(started(swap, leg)), leg)

        assert swap_of(change).status is Status.EXPIRED
        claim = change.ledger[-1].postings[1].account
        assert (claim.kind, claim.deposit_id) == (AccountKind.CLAIMABLE, leg)

    def test_payout_is_refunded(self) -> None:
        swap = swap_of(told(a_swap(refund_address=USER)))
        assert swap.output is not None

        change = payouts.gave_up(swap, swap.output.id, at=NOON, because="", failures=5)

        assert swap_of(change).status is Status.REFUND_PENDING
        assert swap_of(change).fail_reason is FailReason.DESTINATION_UNAVAILABLE
        assert change.refunds_due == (None,)
        assert swap_of(started(swap_of(change))).output is None

    def test_payout_alone_makes_a_refund_due(self) -> None:
        swap = swap_of(told(a_swap(refund_address=USER)))

        assert started(swap) is NOTHING
        assert started(replace(swap, status=Status.COMPLETED)) is NOTHING


class TestReorg:
    def test_takes_back_a_refund_that_nothing_was_signed_for(self) -> None:
        change = told(swap_of(started(pending())), "reverted")

        swap = swap_of(change)
        assert (swap.status, swap.fail_reason) == (Status.DEPOSIT_PENDING, None)
        assert [i.state for i in change.intents] == [IntentState.DEAD]
        assert kinds(change) == ["refund_released", "refund_cost_reversed", "credit_reversed"]

    def test_takes_back_a_refund_that_was_only_due(self) -> None:
        change = told(pending(), "reverted")

        assert swap_of(change).status is Status.DEPOSIT_PENDING
        assert started(swap_of(change)) is NOTHING

    def test_is_our_loss_when_the_refund_was_final(self) -> None:
        change = told(swap_of(paid(out(swap_of(started(pending()))))), "reverted")

        assert kinds(change) == ["lost"]
        assert swap_of(change).status is Status.REFUNDED

    def test_waits_for_the_end_of_a_refund_that_is_out(self) -> None:
        change = told(out(swap_of(started(pending()))), "reverted")

        assert (change.ledger, change.intents) == ((), ())
        assert kinds(paid(swap_of(change))) == ["refund_final", "lost"]

    def test_owes_nobody_when_that_refund_dies(self) -> None:
        gone = swap_of(told(out(swap_of(started(pending()))), "reverted"))

        change = TestDead().dead(gone)

        assert swap_of(change).status is Status.DEPOSIT_PENDING
        assert kinds(change)[-1] == "credit_reversed"
        assert [d.is_booked for d in change.deposits] == [False]

    def test_of_one_part_paid_and_another_not_is_for_a_person(self) -> None:
        swap = swap_of(told(a_swap(refund_address=USER), units=2 * REQUESTED))
        [leg] = swap.deposits
        half_paid = swap_of(paid(out(swap_of(started(swap, leg)), leg), leg=leg))

        with pytest.raises(NotReversible):
            told(half_paid, "reverted", units=2 * REQUESTED)

    def test_takes_both_parts_back_while_neither_is_paid(self) -> None:
        swap = swap_of(told(a_swap(refund_address=USER), units=2 * REQUESTED))
        [leg] = swap.deposits
        swap = swap_of(started(swap, leg))

        change = told(swap, "reverted", units=2 * REQUESTED)

        assert swap_of(change).status is Status.DEPOSIT_PENDING
        assert len(change.intents) == 2
        [deposit] = change.deposits
        assert (deposit.returned_base_units, deposit.state) == (0, DepositState.REVERTED)


class TestAddress:
    def test_given_later_sends_back_what_was_claimable(self) -> None:
        failed = swap_of(told(a_swap(), available=0))
        assert failed.status is Status.FAILED

        change = set_refund_address(failed, USER, at=NOON)

        swap = swap_of(change)
        assert (swap.status, swap.closed_at) == (Status.REFUND_PENDING, None)
        assert change.refunds_due == (None,)
        assert kinds(change) == ["unclaimed"]
        assert started(swap).intents[0].to_address == USER

    def test_given_later_sends_back_what_stands_on_its_own(self) -> None:
        expired = swap_of(told(replace(a_swap(), status=Status.EXPIRED)))
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
