"""Why a swap changed: each decision names its cause, and no change of a swap has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from services.settler.tests.factories import (
    HOUR,
    LATER,
    NOON,
    PLENTY,
    POLYGON,
    REQUESTED,
    TREASURY,
    USER,
    a_deposit,
    a_deposit_fact,
    a_payout,
    a_quote,
    a_swap,
    swap_of,
    with_signed_attempts,
)
from swap_contracts.public import change_causes as public
from swap_domain.lifecycle import Status
from swap_settler.model.batch_state import BatchState
from swap_settler.model.change_cause import (
    PAYMENT_NAMES,
    ChangeCause,
    PaymentStep,
    cause_of_payment,
)
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.messages.message_mapping import to_quote_terms
from swap_settler.model.messages.swap_messages import SHOWN
from swap_settler.model.swap import Intent, IntentKind, IntentState, Swap
from swap_settler.paying.usecases.abandon_payouts import leave_for_operators
from swap_settler.settling.decide import deposits, expiry, payouts, refunds, requotes
from swap_settler.settling.decide.dwelling import abandon_waiting_payout

HASH = "0x" + "11" * 32
RESOURCES: dict[str, Any] = {"available": PLENTY, "paid_id": 7}


def after(*facts: tuple[str, dict[str, Any]], **swap: Any) -> Swap:
    """Return a swap after facts about its deposits."""
    known = a_swap(**swap)
    for state, more in facts:
        known = swap_of(deposit(known, state, **more))
    return known


def deposit(swap: Swap, state: str, *, available: int = PLENTY, **more: Any) -> Changes:
    fact = a_deposit_fact(state, **more)
    return deposits.decide(swap, fact, at=LATER, available=available, paid_id=7)


def late(units: int = REQUESTED) -> Swap:
    """Return a swap that was paid after its quote had expired."""
    more = {"units": units, "block_time": LATER, "received_at": LATER}
    return after(("confirmed", more), refund_address=USER)


def refunding() -> Swap:
    return after(("confirmed", {"available": 0}), refund_address=USER)


def paying(kind: IntentKind, state: IntentState) -> tuple[Swap, Intent]:
    """Return a swap with a payment of a kind, beside its output."""
    swap = after(("confirmed", {}))
    [output] = swap.intents.values()
    own = replace(output, id=a_deposit().id, kind=kind, paid_id=99)
    intent = with_signed_attempts(output if kind is IntentKind.OUTPUT else own, HASH, state=state)
    return swap.with_intent(intent), intent


def logged(swap: Swap, intent: Intent, state: str) -> Changes:
    """Return the changes by a log of a payment."""
    log = a_payout(
        state,
        version=2,
        transaction_hash=HASH,
        intent_id=str(intent.paid_id),
        token=intent.token,
        to_address=intent.to_address,
        base_units=str(intent.base_units),
    )
    return payouts.decide(swap, log, at=NOON, treasury=TREASURY[POLYGON])


@pytest.mark.parametrize("known", [IntentState.BROADCAST, IntentState.MINED])
def test_an_output_is_confirmed(known: IntentState) -> None:
    swap, intent = paying(IntentKind.OUTPUT, known)

    assert logged(swap, intent, "confirmed").cause is ChangeCause.PAYOUT_CONFIRMED


@pytest.mark.parametrize("kind", PAYMENT_NAMES)
class TestAPayment:
    @pytest.mark.parametrize(
        ("known", "state", "step"),
        [
            (IntentState.BROADCAST, "seen", "mined"),
            (IntentState.MINED, "reverted", "reverted"),
            (IntentState.CONFIRMED, "seen", "mined"),
            (IntentState.CONFIRMED, "confirmed", "confirmed"),
            (IntentState.CONFIRMED, "reverted", "reverted"),
        ],
    )
    def test_is_in_a_block_or_no_longer(
        self, kind: IntentKind, known: IntentState, state: str, step: PaymentStep
    ) -> None:
        swap, intent = paying(kind, known)

        assert logged(swap, intent, state).cause is cause_of_payment(kind, step)

    def test_is_sent(self, kind: IntentKind) -> None:
        swap, intent = paying(kind, IntentState.ASSIGNED)

        assert payouts.mark_sent(swap, intent.id, at=NOON).cause is cause_of_payment(kind, "sent")

    def test_of_an_external_transaction_is_in_a_block(self, kind: IntentKind) -> None:
        swap, intent = paying(kind, IntentState.ASSIGNED)
        found, ordered = BatchState({swap.id: swap}, {}), BatchState({swap.id: swap}, {})

        leave_for_operators(found, swap, intent.id, at=NOON)
        cause = ChangeCause.PAYMENT_RECONCILED
        leave_for_operators(ordered, swap, intent.id, at=NOON, cause=cause)

        assert [change.cause for change in found.changes] == [cause_of_payment(kind, "mined")]
        assert [change.cause for change in ordered.changes] == [cause]

    @pytest.mark.parametrize("step", get_args(PaymentStep))
    def test_has_a_cause_per_step(self, kind: IntentKind, step: PaymentStep) -> None:
        assert cause_of_payment(kind, step).value.endswith(f"_{step}")


def test_every_payment_of_a_swap_has_a_name() -> None:
    assert PAYMENT_NAMES.keys() == SHOWN.keys()


@pytest.mark.parametrize("state", ["seen", "confirmed", "reverted"])
def test_a_deposit_names_what_its_chain_says(state: str) -> None:
    swap = after(("seen", {}))

    assert deposit(swap, state, version=2).cause == f"deposit_{state}"


@pytest.mark.parametrize(
    "cause", [ChangeCause.DEPOSIT_ATTACHED, ChangeCause.DEPOSIT_ATTACHED_BY_OPERATOR]
)
def test_an_attached_deposit_names_who_attached_it(cause: ChangeCause) -> None:
    waiting = a_deposit(number=None)

    change = deposits.take(a_swap(), waiting, since=NOON, at=NOON, cause=cause, **RESOURCES)

    assert change.cause is cause


def offer(payout: int) -> Any:
    return to_quote_terms(a_quote(requested=REQUESTED, payout=payout), expires_at=LATER + HOUR)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (deposits.attach(a_swap(), [a_deposit()], at=NOON, **RESOURCES), "deposit_matched"),
        (expiry.decide(late(REQUESTED // 2), at=LATER + 24 * HOUR), "deadline_passed"),
        (requotes.accept(late(), offer(10**9), at=LATER, **RESOURCES), "requoted"),
        (requotes.accept(late(), offer(1), at=LATER, **RESOURCES), "requote_refused"),
        (
            requotes.refuse(late(), requotes.RequoteRefusal.ABOVE_MAXIMUM, at=LATER, **RESOURCES),
            "requote_refused",
        ),
        (refunds.start(refunding(), None, at=LATER, cost=1, paid_id=7), "refund_started"),
        (
            refunds.start(refunding(), None, at=LATER, cost=REQUESTED, paid_id=7),
            "refund_below_cost",
        ),
        (refunds.abandon_refund(refunding(), at=LATER), "refund_overdue"),
        (
            abandon_waiting_payout(
                swap := after(("confirmed", {})), next(iter(swap.intents)), at=LATER
            ),
            "payout_abandoned",
        ),
    ],
)
def test_decisions_of_the_service_name_themselves(change: Changes, cause: str) -> None:
    assert change.swap is not None
    assert change.cause == cause


def test_a_change_of_a_swap_has_a_cause_and_no_other_has_one() -> None:
    with pytest.raises(AssertionError, match="a change of a swap has a cause"):
        Changes(swap=a_swap(), previous_status=Status.DEPOSIT_PENDING)
    with pytest.raises(AssertionError, match="a change of a swap has a cause"):
        Changes(cause=ChangeCause.REQUOTED)


def test_a_change_of_no_swap_gets_no_cause() -> None:
    assert NOTHING.with_cause(ChangeCause.REQUOTED) is NOTHING


def test_each_cause_has_public_words() -> None:
    assert list(public.CAUSE_TEXTS) == list(get_args(public.ChangeCause)) == list(ChangeCause)
