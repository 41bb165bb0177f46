"""Claimable money: paid once, in full, and never in addition to its refund."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    MINUTE,
    NOON,
    POLYGON,
    RECIPIENT,
    REFUEL,
    REFUEL_CHARGED,
    USDC,
    a_deposit,
    a_deposit_fact,
    a_swap,
    with_signed_attempts,
)
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.swap import (
    SWEPT_WITHOUT_SWAP,
    Deposit,
    DepositState,
    Intent,
    IntentKind,
    IntentState,
    Method,
    Swap,
)
from swap_settler.operator.decide.claims import Claimable, NotClaimable, pay, pay_unmatched_deposit
from swap_settler.settling.decide.deposits import NotReversible, decide_unmatched

PAID_ID, LEG = 77, UUID(int=3)
SWAP = replace(a_swap(refuel=True), status=Status.FAILED)
MAIN = Claimable(5, ETHEREUM, USDC[ETHEREUM], SWAP.id, None, 900)
OWN = replace(MAIN, id=6, deposit_id=LEG)
UNSENT_REFUEL = replace(MAIN, id=7, network=POLYGON, token=NATIVE, base_units=REFUEL)
DEPOSIT = a_deposit("confirmed")
WITHOUT_SWAP = Claimable(8, ETHEREUM, USDC[ETHEREUM], None, DEPOSIT.id, 900)


def paid(what: Claimable = MAIN, swap: Swap = SWAP) -> Changes:
    return pay(what, swap, to_address=RECIPIENT, at=NOON, paid_id=PAID_ID)


def the_intent(changes: Changes) -> Intent:
    [intent] = changes.intents
    return intent


def refunded(leg: UUID | None) -> Swap:
    return SWAP.with_intent(replace(the_intent(paid()), kind=IntentKind.REFUND, deposit_id=leg))


def expected(what: Claimable, *, usd_micros: int | None) -> Intent:
    """Return the payment of a whole balance: no gas is charged, and nothing is left over."""
    return Intent(
        id=uuid5(what.owner, f"claim/{what.id}/{NOON.isoformat()}"),
        paid_id=PAID_ID,
        swap_id=what.swap_id,
        deposit_id=what.deposit_id,
        kind=IntentKind.CLAIM,
        network=what.network,
        token=what.token,
        to_address=RECIPIENT,
        base_units=what.base_units,
        charged_base_units=what.base_units,
        usd_micros=usd_micros,
        state=IntentState.RESERVED,
        due_at=NOON,
        created_at=NOON,
    )


@pytest.mark.parametrize(
    ("what", "spent_on_refuel", "usd_micros"),
    [
        pytest.param(MAIN, 0, 900, id="the main leg"),
        pytest.param(OWN, 0, 900, id="a deposit's own leg"),
        pytest.param(UNSENT_REFUEL, REFUEL_CHARGED, REFUEL_CHARGED, id="a refuel at its price"),
    ],
)
def test_the_whole_balance_is_paid_and_counts_in_dollars(
    what: Claimable, spent_on_refuel: int, usd_micros: int
) -> None:
    swap = replace(SWAP, quote=replace(SWAP.quote, spent_on_refuel=spent_on_refuel))

    change = paid(what, swap)

    intent = expected(what, usd_micros=usd_micros)
    assert change == Changes(
        swap=swap.on(NOON).with_intent(intent),
        previous_status=Status.FAILED,
        cause=ChangeCause.PAYMENT_ORDERED,
        intents=(intent,),
        ledger=(ledger.claim_reserved(intent),),
    )


@pytest.mark.parametrize("what", [MAIN, OWN, UNSENT_REFUEL])
def test_a_balance_is_paid_once(what: Claimable) -> None:
    swap = paid(what).swap
    assert swap is not None

    with pytest.raises(NotClaimable, match=r"^it is paid, or on its way$"):
        paid(what, swap)


def test_each_leg_and_each_asset_is_paid_separately() -> None:
    swap = SWAP
    for what in (MAIN, OWN, UNSENT_REFUEL, replace(UNSENT_REFUEL, id=9, network=ETHEREUM)):
        changed = paid(what, swap).swap
        assert changed is not None
        swap = changed

    assert len(swap.intents) == 4


@pytest.mark.parametrize("kind", [k for k in IntentKind if k is not IntentKind.CLAIM])
def test_other_payments_of_the_same_money_do_not_prevent_a_claim(kind: IntentKind) -> None:
    leg = None if kind is not IntentKind.REFUND else UUID(int=4)
    swap = SWAP.with_intent(replace(the_intent(paid()), kind=kind, deposit_id=leg))

    assert paid(MAIN, swap).swap is not None


@pytest.mark.parametrize(("what", "leg"), [(MAIN, None), (OWN, LEG)])
def test_money_on_its_way_back_is_not_claimable(what: Claimable, leg: UUID | None) -> None:
    with pytest.raises(NotClaimable, match=r"^its refund is on its way$"):
        paid(what, refunded(leg))


@pytest.mark.parametrize(
    ("what", "leg"),
    [
        pytest.param(MAIN, LEG, id="a refund of another leg"),
        pytest.param(OWN, None, id="a refund of the main leg"),
        pytest.param(UNSENT_REFUEL, None, id="a refuel beside a refund"),
        pytest.param(replace(MAIN, token=NATIVE), None, id="another token of the network"),
    ],
)
def test_a_refund_of_other_money_is_not_in_its_way(what: Claimable, leg: UUID | None) -> None:
    assert paid(what, refunded(leg)).swap is not None


def pay_without_swap(deposit: Deposit = DEPOSIT, *, after: timedelta, **more: Any) -> Changes:
    return pay_unmatched_deposit(
        WITHOUT_SWAP,
        deposit,
        to_address=RECIPIENT,
        at=NOON + after,
        paid_id=PAID_ID,
        may_match_for=HOUR,
        **({"usd_micros": 12} | more),
    )


class TestADepositWithoutASwap:
    WAITS = replace(DEPOSIT, received_at=NOON, method=Method.DEPOSITORY)

    def test_is_paid_in_full_and_needs_no_price(self) -> None:
        for usd_micros in (12, None):
            change = pay_without_swap(
                replace(DEPOSIT, received_at=NOON - HOUR), after=timedelta(0), usd_micros=usd_micros
            )

            intent = expected(WITHOUT_SWAP, usd_micros=usd_micros)
            assert change == Changes(intents=(intent,), ledger=(ledger.claim_reserved(intent),))

    def test_is_not_claimable_while_its_swap_may_be_created(self) -> None:
        until = (NOON + HOUR).isoformat()
        words = f"it names a swap that may still come, until {until}"

        with pytest.raises(NotClaimable) as refused:
            pay_without_swap(self.WAITS, after=HOUR - timedelta(microseconds=1))

        assert str(refused.value) == words
        assert pay_without_swap(self.WAITS, after=HOUR).intents

    @pytest.mark.parametrize(
        "deposit",
        [
            pytest.param(replace(WAITS, sequence_number=None), id="it names no swap"),
            pytest.param(replace(WAITS, quarantine_reason="token"), id="no swap may have it"),
            pytest.param(replace(WAITS, method=Method.DEPOSIT_ADDRESS), id="its address has one"),
        ],
    )
    def test_that_can_have_no_swap_is_claimable_at_once(self, deposit: Deposit) -> None:
        assert pay_without_swap(deposit, after=MINUTE).intents

    def test_waits_where_its_address_may_become_a_swaps(self) -> None:
        swept = replace(self.WAITS, sequence_number=None, quarantine_reason=SWEPT_WITHOUT_SWAP)

        with pytest.raises(NotClaimable):
            pay_without_swap(swept, after=MINUTE)


class TestAReorgOfADepositWithoutASwap:
    """It was credited and booked in suspense; an operator may have ordered its payment."""

    KNOWN = replace(DEPOSIT, state=DepositState.CREDITED, is_booked=True)
    CLAIM = the_intent(
        pay_unmatched_deposit(
            WITHOUT_SWAP,
            replace(DEPOSIT, received_at=NOON - HOUR),
            to_address=RECIPIENT,
            at=NOON,
            paid_id=PAID_ID,
            may_match_for=HOUR,
            usd_micros=None,
        )
    )

    def decided(self, state: str, claim: Intent | None = None) -> Changes:
        fact = a_deposit_fact(state, version=3)
        return decide_unmatched(self.KNOWN, fact, is_ours=True, claim=claim)

    @pytest.mark.parametrize(
        ("state", "left"), [("reverted", DepositState.REVERTED), ("seen", DepositState.SEEN)]
    )
    def test_reverses_its_booking(self, state: str, left: DepositState) -> None:
        change = self.decided(state)

        newest = a_deposit_fact(state, version=3).deposit
        gone = replace(newest, state=left, is_booked=False)
        assert change == Changes(
            deposits=(gone,), ledger=(ledger.receipt_reversed(self.KNOWN, version=3),)
        )

    def test_is_recorded_only_where_it_was_not_booked(self) -> None:
        fact = a_deposit_fact("reverted")

        change = decide_unmatched(None, fact, is_ours=True)

        gone = replace(fact.deposit, state=DepositState.REVERTED, is_booked=False)
        assert change == Changes(deposits=(gone,))

    def test_ends_an_unsigned_payment(self) -> None:
        change = self.decided("reverted", self.CLAIM)

        dead = self.CLAIM.as_dead("a reorg took the deposit before anything could pay for it")
        assert change.intents == (dead,)
        assert [one.state for one in change.deposits] == [DepositState.REVERTED]
        assert change.ledger == (
            ledger.claim_released(dead),
            ledger.receipt_reversed(self.KNOWN, version=3),
        )

    def test_is_for_an_operator_once_the_payment_was_signed(self) -> None:
        with pytest.raises(NotReversible) as refused:
            self.decided("reverted", with_signed_attempts(self.CLAIM))

        assert str(refused.value) == f"{DEPOSIT.id}, which was sent to its owner"

    def test_that_is_older_than_the_known_version_is_ignored(self) -> None:
        fact = a_deposit_fact("reverted", version=self.KNOWN.version)

        assert decide_unmatched(self.KNOWN, fact, is_ours=True) is NOTHING
