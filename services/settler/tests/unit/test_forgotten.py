"""A payment that a restored ledger lacks: ordered again within the swap's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    LATER,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    REFUEL,
    REQUESTED,
    USDC,
    USER,
    a_deposit_fact,
    a_payout,
    a_swap,
    output_of,
    swap_of,
    with_signed_attempts,
)
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_settler.model.chain_facts import PayoutFact
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.settled_step import changes_of
from swap_settler.model.swap import DepositState, FailReason, IntentKind, IntentState, Swap
from swap_settler.operator.decide.forgotten_payments import (
    NotAllowed,
    end_for_claim,
    free_leg,
    free_refuel,
    is_of_source,
    move_last_deposits_off,
    order_output,
    order_refund,
)
from swap_settler.settling.decide import deposits, payouts
from swap_settler.settling.decide.main_leg import refund_or_fail
from swap_settler.settling.decide.refunds import abandon_refund, start

PAID_ID, COST = 77, 500
SENT_BACK = "its money was sent back by a forgotten payment"
MAIN_LEG = None
CAUSE = ChangeCause.PAYMENT_RECONCILED


def with_deposit(swap: Swap, units: int = REQUESTED, nth: int = 0, **more: int) -> Swap:
    resources: Any = {"available": PLENTY, "paid_id": 1, "refuel_available": REFUEL} | more
    fact = a_deposit_fact(units=units, nth=nth, block_number=100 + nth)
    return swap_of(deposits.decide(swap, fact, at=NOON, **resources))


def deposit_id(nth: int = 0) -> UUID:
    return a_deposit_fact(nth=nth).deposit.id


def a_fresh_swap(**more: Any) -> Swap:
    return a_swap(refund_address=USER, **more)


def waiting_for_output(**more: Any) -> Swap:
    """Return a swap whose output is ordered and not sent."""
    return with_deposit(a_fresh_swap(**more))


def waiting_for_quote(units: int = 2 * REQUESTED) -> Swap:
    return with_deposit(a_fresh_swap(), units)


def refund_due(*, units: int = REQUESTED) -> Swap:
    """Return a swap that cannot be paid out, and is to be refunded."""
    return with_deposit(a_fresh_swap(), units, available=0)


def ended_with_late_deposit() -> Swap:
    """Return a swap with a deposit of 900 on a separate leg."""
    return with_deposit(waiting_for_output(), 900, nth=1)


def refund_log(units: int) -> PayoutFact:
    paid = {"network": ETHEREUM, "token": USDC[ETHEREUM], "to_address": USER}
    return replace(a_payout(base_units=str(units), **paid), paid_id=PAID_ID)


def output_log(units: int = PAYOUT) -> PayoutFact:
    return replace(a_payout(base_units=str(units)), paid_id=PAID_ID)


class TestFreeLeg:
    def test_abandons_another_kind_of_payment_that_waits(self) -> None:
        swap = waiting_for_output()

        change = free_leg(swap, MAIN_LEG, IntentKind.REFUND, at=LATER)

        assert change == payouts.abandon_payment(
            swap, output_of(swap).id, at=LATER, because=SENT_BACK, failures=0
        ).with_cause(CAUSE)
        assert change.intents == (output_of(swap).as_dead(SENT_BACK, failures=0),)
        assert swap_of(change).status is Status.REFUND_PENDING

    def test_leaves_a_payment_of_the_same_kind(self) -> None:
        assert free_leg(waiting_for_output(), MAIN_LEG, IntentKind.OUTPUT, at=LATER) == NOTHING

    def test_refuses_while_what_was_signed_may_still_pay(self) -> None:
        swap = waiting_for_output()
        out = swap.with_intent(with_signed_attempts(output_of(swap)))

        with pytest.raises(NotAllowed) as refused:
            free_leg(out, MAIN_LEG, IntentKind.REFUND, at=LATER)

        assert str(refused.value) == "its output was signed, and may be in a block: wait"

    def test_abandons_the_refund_of_a_deposit_s_own_leg(self) -> None:
        leg = deposit_id(1)
        swap = swap_of(start(ended_with_late_deposit(), leg, at=NOON, cost=COST, paid_id=2))
        refund = swap.refund(leg)
        assert refund is not None

        change = free_leg(swap, leg, IntentKind.CLAIM, at=LATER)

        assert [(one.id, one.state) for one in change.intents] == [(refund.id, IntentState.DEAD)]
        assert swap_of(change).output == swap.output

    def test_gives_back_what_waits_for_another_quote(self) -> None:
        swap = waiting_for_quote()

        change = free_leg(swap, MAIN_LEG, IntentKind.REFUND, at=LATER)

        done = refund_or_fail(swap.on(LATER), FailReason.ROUTE_UNAVAILABLE, LATER)
        assert change == changes_of(swap, done, CAUSE)
        after = swap_of(change)
        assert (after.status, after.fail_reason, after.changed_at) == (
            Status.REFUND_PENDING,
            FailReason.ROUTE_UNAVAILABLE,
            LATER,
        )

    def test_ends_one_without_an_address_with_its_time(self) -> None:
        swap = with_deposit(a_swap(), 2 * REQUESTED)

        after = swap_of(free_leg(swap, MAIN_LEG, IntentKind.CLAIM, at=LATER))

        assert (after.status, after.closed_at) == (Status.FAILED, LATER)

    @pytest.mark.parametrize(
        ("swap", "leg"),
        [
            pytest.param(a_fresh_swap(), MAIN_LEG, id="nothing came"),
            pytest.param(waiting_for_quote(), deposit_id(1), id="a leg of its own"),
            pytest.param(refund_due(), MAIN_LEG, id="it is given back"),
        ],
    )
    def test_has_no_effect_without_a_payment_that_waits(self, swap: Swap, leg: UUID | None) -> None:
        assert free_leg(swap, leg, IntentKind.REFUND, at=LATER) == NOTHING


class TestFreeRefuel:
    SWAP = waiting_for_output(refuel=True)
    REFUEL = replace(output_of(SWAP), id=deposit_id(9), kind=IntentKind.REFUEL, token=NATIVE)

    def test_abandons_one_that_was_not_sent(self) -> None:
        swap = self.SWAP.with_intent(self.REFUEL)

        change = free_refuel(swap, at=LATER)

        assert change == payouts.abandon_payment(
            swap, self.REFUEL.id, at=LATER, because=SENT_BACK, failures=0
        ).with_cause(CAUSE)
        assert change.intents == (self.REFUEL.as_dead(SENT_BACK, failures=0),)
        assert swap_of(change).changed_at == LATER

    def test_refuses_one_that_was_signed(self) -> None:
        with pytest.raises(NotAllowed, match=r"^its refuel was signed, and may be in a block"):
            free_refuel(self.SWAP.with_intent(with_signed_attempts(self.REFUEL)), at=LATER)

    def test_has_no_effect_without_an_ordered_refuel(self) -> None:
        assert free_refuel(self.SWAP, at=LATER) == NOTHING


class TestLeaveOutLater:
    FIRST, SECOND, THIRD = deposit_id(), deposit_id(1), deposit_id(2)

    @staticmethod
    def three() -> Swap:
        """Return a swap with deposits of 600, 300 and 100 on its main leg."""
        swap = a_fresh_swap()
        for nth, units in enumerate((600, 300, 100)):
            swap = with_deposit(swap, units, nth)
        return swap

    def own_legs(self, change: Changes) -> dict[UUID, int]:
        return {d.id: d.returned_base_units for d in change.deposits}

    @pytest.mark.parametrize(
        ("least", "nths"),
        [(1_000, ()), (901, ()), (900, (2,)), (601, (2,)), (600, (2, 1)), (1, (2, 1))],
    )
    def test_leaves_out_the_last_as_long_as_the_rest_covers_it(
        self, least: int, nths: tuple[int, ...]
    ) -> None:
        change = move_last_deposits_off(self.three(), least, paid_alone=(), at=LATER)

        units = {1: 300, 2: 100}
        assert self.own_legs(change) == {deposit_id(nth): units[nth] for nth in nths}
        assert change.refunds_due == tuple(deposit_id(nth) for nth in nths)
        if not nths:
            assert change == NOTHING

    def test_books_each_on_its_own_leg(self) -> None:
        swap = self.three()

        change = move_last_deposits_off(swap, 600, paid_alone=(), at=LATER)

        on = swap.on(LATER)
        assert change.ledger == (
            ledger.excess_returned(on, swap.deposits[self.THIRD], 100),
            ledger.excess_returned(on, swap.deposits[self.SECOND], 300),
        )
        assert swap_of(change).changed_at == LATER
        assert swap_of(change).credited_base_units == 600

    def test_leaves_out_first_what_has_a_payment_of_its_own(self) -> None:
        change = move_last_deposits_off(self.three(), 400, paid_alone={self.FIRST}, at=LATER)

        assert self.own_legs(change) == {self.FIRST: 600}

    def test_leaves_out_by_time_and_then_by_block(self) -> None:
        swap = self.three()
        first = swap.deposits[self.FIRST]
        by_time = swap.with_deposit(replace(first, attached_at=LATER))
        by_block = swap.with_deposit(replace(first, block_number=first.block_number + 9))

        for late in (by_time, by_block):
            change = move_last_deposits_off(late, 400, paid_alone=(), at=LATER)
            assert self.own_legs(change) == {self.FIRST: 600}

    def test_leaves_what_a_reorg_took(self) -> None:
        swap = self.three()
        gone = replace(swap.deposits[self.THIRD], state=DepositState.REVERTED)
        after_reorg = swap.with_deposit(gone)

        change = move_last_deposits_off(after_reorg, 600, paid_alone=(), at=LATER)

        assert self.own_legs(change) == {self.SECOND: 300}

    def test_has_no_effect_where_all_deposits_are_claimable(self) -> None:
        failed = replace(self.three(), status=Status.FAILED)

        assert move_last_deposits_off(failed, 1, paid_alone=(), at=LATER) == NOTHING


class TestOrderRefund:
    @pytest.mark.parametrize(
        ("paid", "most_cost", "units"),
        [
            (REQUESTED - COST, None, REQUESTED - COST),
            (REQUESTED - COST, COST, REQUESTED - COST),
            (REQUESTED, COST, REQUESTED),
            # A log with another amount differs from the order; the two are compared later.
            (REQUESTED + 1, COST, REQUESTED),
            (REQUESTED - COST - 1, COST, REQUESTED - COST),
            (5, None, 5),
            (0, None, 1),
            (0, 2 * REQUESTED, 1),
        ],
    )
    def test_orders_what_was_paid_within_what_it_may_cost(
        self, paid: int, most_cost: int | None, units: int
    ) -> None:
        swap = refund_due()

        change = order_refund(swap, MAIN_LEG, refund_log(paid), at=LATER, most_cost=most_cost)

        cost = REQUESTED - units
        assert change == start(swap, MAIN_LEG, at=LATER, cost=cost, paid_id=PAID_ID).with_cause(
            ChangeCause.PAYMENT_RECONCILED
        )
        [refund] = change.intents
        assert (refund.base_units, refund.paid_id) == (units, PAID_ID)

    def test_orders_the_refund_of_a_deposit_s_own_leg(self) -> None:
        swap, leg = ended_with_late_deposit(), deposit_id(1)

        change = order_refund(swap, leg, refund_log(800), at=LATER, most_cost=None)

        assert change == start(swap, leg, at=LATER, cost=100, paid_id=PAID_ID).with_cause(
            ChangeCause.PAYMENT_RECONCILED
        )

    def test_needs_an_address(self) -> None:
        swap = with_deposit(a_swap(), 2 * REQUESTED)

        with pytest.raises(NotAllowed) as refused:
            order_refund(swap, MAIN_LEG, refund_log(1), at=LATER, most_cost=None)

        assert str(refused.value) == (
            "it has no refund address: set it first, then explain the refund"
        )

    def test_needs_a_leg_that_can_be_refunded(self) -> None:
        with pytest.raises(NotAllowed) as refused:
            order_refund(waiting_for_output(), MAIN_LEG, refund_log(1), at=LATER, most_cost=None)

        status = Status.PAYOUT_PENDING.value
        assert str(refused.value) == f"it is {status}, and this leg of it cannot be refunded"


class TestEndForClaim:
    def test_ends_a_refund_that_is_due(self) -> None:
        swap = refund_due()

        change = end_for_claim(swap, MAIN_LEG, at=LATER)

        assert change == abandon_refund(swap, at=LATER).with_cause(CAUSE)
        assert swap_of(change).status is Status.FAILED

    def test_leaves_what_is_on_a_leg_of_its_own(self) -> None:
        assert end_for_claim(refund_due(), deposit_id(), at=LATER) == NOTHING


class TestOrderOutput:
    @staticmethod
    def due() -> Swap:
        """Return a swap with the amount of its quote, and no output yet."""
        swap = waiting_for_quote(REQUESTED)
        assert swap.output is not None
        return replace(swap, intents={}, status=Status.DEPOSIT_PENDING)

    def test_orders_what_the_quote_pays_whatever_the_inventory_is(self) -> None:
        change = order_output(self.due(), output_log(), at=LATER)

        [intent] = change.intents
        assert (intent.kind, intent.base_units, intent.paid_id, intent.created_at) == (
            IntentKind.OUTPUT,
            PAYOUT,
            PAID_ID,
            LATER,
        )
        assert swap_of(change).status is Status.PAYOUT_PENDING
        assert swap_of(change).changed_at == LATER

    def test_buys_the_refuel_that_was_quoted(self) -> None:
        paid = waiting_for_output(refuel=True)
        due = replace(paid, intents={}, status=Status.DEPOSIT_PENDING)

        change = order_output(due, output_log(), at=LATER)

        assert "refuel_bought" in {entry.kind for entry in change.ledger}

    def test_gives_more_than_was_quoted_for_a_leg_of_its_own(self) -> None:
        swap = waiting_for_quote()

        change = order_output(swap, output_log(), at=LATER)

        assert change.refunds_due == (deposit_id(),)
        assert change.intents[0].base_units == PAYOUT

    @pytest.mark.parametrize(
        ("swap", "status"),
        [(a_fresh_swap(), Status.DEPOSIT_PENDING), (waiting_for_output(), Status.PAYOUT_PENDING)],
    )
    def test_needs_a_deposit_that_waits_for_it(self, swap: Swap, status: Status) -> None:
        with pytest.raises(NotAllowed) as refused:
            order_output(swap, output_log(), at=LATER)

        assert str(refused.value) == f"it is {status.value}, and waits for no output"

    @pytest.mark.parametrize(
        ("units", "paid"), [(2 * REQUESTED, PAYOUT + 1), (REQUESTED - 1, PAYOUT)]
    )
    def test_needs_the_quote_that_was_paid(self, units: int, paid: int) -> None:
        with pytest.raises(NotAllowed) as refused:
            order_output(waiting_for_quote(units), output_log(paid), at=LATER)

        assert str(refused.value) == f"its quote pays {PAYOUT}, and not {paid}"


@pytest.mark.parametrize(
    ("asset", "is_source"),
    [
        ((ETHEREUM, USDC[ETHEREUM]), True),
        ((POLYGON, USDC[POLYGON]), False),
        ((ETHEREUM, NATIVE), False),
    ],
)
def test_the_source_s_asset_is_its_network_and_token(
    asset: tuple[str, str], *, is_source: bool
) -> None:
    assert is_of_source(a_fresh_swap(), asset) is is_source
