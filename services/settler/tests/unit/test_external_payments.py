"""Payments that transactions of another sender made, spent or left open."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from services.settler.tests.factories import (
    HOUR,
    MINUTE,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    REFUEL,
    TREASURY,
    USER,
    a_deposit_fact,
    a_payout,
    a_swap,
    output_of,
    swap_of,
    with_signed_attempts,
)
from swap_domain.lifecycle import Status
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.messages.message_mapping import paid_id_of, refuel_id_of
from swap_settler.model.swap import FailReason, Intent, IntentKind, IntentState, Swap
from swap_settler.settling.decide import deposits
from swap_settler.settling.decide.dwelling import TOO_LONG, abandon_waiting_payout
from swap_settler.settling.decide.payouts import (
    abandon_standalone_intent,
    confirm_external_payment,
    decide,
    fail_spent_payment,
    leave_to_operators,
    mark_standalone_sent,
)
from swap_settler.settling.decide.refunds import start

HERE = TREASURY[POLYGON]
LOG = a_payout()  # final, version 2


def reserved(*, refuel: bool = False, refund_address: str | None = USER) -> Swap:
    swap = a_swap(refund_address=refund_address, refuel=refuel)
    change = deposits.decide(
        swap,
        a_deposit_fact(),
        at=NOON,
        available=PLENTY,
        paid_id=paid_id_of(swap),
        refuel_available=REFUEL,
    )
    return swap_of(change)


def refunding() -> tuple[Swap, Intent]:
    swap = a_swap(refund_address=USER)
    short = deposits.decide(swap, a_deposit_fact(), at=NOON, available=0, paid_id=1).swap
    assert short is not None
    started_refund = start(short, None, at=NOON, cost=10, paid_id=2)
    assert started_refund.swap is not None
    return started_refund.swap, started_refund.intents[0]


CLAIM = replace(
    output_of(reserved()), kind=IntentKind.CLAIM, swap_id=None, state=IntentState.ASSIGNED
)
FEE = replace(CLAIM, kind=IntentKind.PARTNER_FEE)


class TestMadeByAnExternalTransaction:
    def test_completes_the_swap_and_moves_its_log_out_of_suspense(self) -> None:
        swap = reserved()

        change = confirm_external_payment(swap, output_of(swap), LOG, at=NOON + HOUR, treasury=HERE)

        [intent] = change.intents
        fact = replace(LOG, version=output_of(swap).version + 1)
        assert (intent.state, intent.version) == (IntentState.CONFIRMED, fact.version)
        assert (intent.slot_at, intent.confirmed_at) == (LOG.block_time, NOON + HOUR)
        assert intent.transaction_hash == LOG.transaction_hash
        assert change.swap is not None
        assert (change.swap.status, change.swap.closed_at) == (Status.COMPLETED, NOON + HOUR)
        assert change.ledger == (
            ledger.payout_final(intent, block_number=500, treasury=HERE),
            ledger.book_reconciled_payout(fact, HERE),
        )

    def test_keeps_when_it_had_a_nonce_here(self) -> None:
        swap = reserved()
        intent = with_signed_attempts(output_of(swap))

        change = confirm_external_payment(
            swap.with_intent(intent), intent, LOG, at=NOON + HOUR, treasury=HERE
        )

        assert change.intents[0].slot_at == intent.slot_at

    def test_is_newer_than_all_that_was_known(self) -> None:
        swap = reserved()
        intent = replace(output_of(swap), version=9)

        change = confirm_external_payment(
            swap.with_intent(intent), intent, LOG, at=NOON, treasury=HERE
        )

        assert change.intents[0].version == 10

    def test_orders_the_refuel_of_its_swap(self) -> None:
        swap = reserved(refuel=True)

        change = confirm_external_payment(
            swap, output_of(swap), LOG, at=NOON, treasury=HERE, refuel_id=refuel_id_of(swap)
        )

        assert [one.kind for one in change.intents] == [IntentKind.OUTPUT, IntentKind.REFUEL]
        assert change.intents[1].paid_id == refuel_id_of(swap)
        assert change.intents[1].due_at == NOON

    def test_may_be_no_swaps(self) -> None:
        change = confirm_external_payment(None, CLAIM, LOG, at=NOON, treasury=HERE)

        [intent] = change.intents
        assert (change.swap, intent.state) == (None, IntentState.CONFIRMED)
        assert [entry.kind for entry in change.ledger] == ["claim_final", "payout_explained"]


class TestWhoseIdWasSpent:
    def test_for_another_payment_fails_with_the_money_claimable(self) -> None:
        swap = reserved()

        change = fail_spent_payment(swap, output_of(swap), at=NOON + HOUR, because="paid another")

        assert change.swap is not None
        assert (change.swap.status, change.swap.closed_at) == (Status.FAILED, NOON + HOUR)
        assert change.swap.fail_reason is FailReason.DESTINATION_UNAVAILABLE
        assert change.refunds_due == ()  # although an address is set
        [dead] = change.intents
        assert json.loads(dead.dead_proof or "") == {
            "because": "paid another",
            "attempts": 0,
            "failures": 0,
        }
        assert [entry.kind for entry in change.ledger] == [
            "payout_released",
            "quote_reversed",
            "claimable",
        ]

    def test_keeps_the_reason_of_a_refund(self) -> None:
        swap, refund = refunding()

        change = fail_spent_payment(swap, refund, at=NOON, because="paid another")

        assert change.swap is not None
        assert change.swap.status is Status.FAILED
        assert change.swap.fail_reason is FailReason.INSUFFICIENT_LIQUIDITY

    @pytest.mark.parametrize("slot_at", [None, NOON - MINUTE])
    def test_and_that_only_an_operator_can_settle_waits_as_sent(self, slot_at: object) -> None:
        swap = reserved()
        intent = replace(output_of(swap), slot_at=slot_at)  # type: ignore[arg-type]

        change = leave_to_operators(swap.with_intent(intent), intent, LOG, at=NOON + HOUR)

        left = replace(
            intent,
            state=IntentState.BROADCAST,
            slot_at=slot_at or LOG.block_time,  # type: ignore[arg-type]
        )
        assert change == Changes(
            swap=swap.on(NOON + HOUR).with_intent(left),
            previous_status=Status.PAYOUT_PENDING,
            cause=ChangeCause.PAYMENT_RECONCILED,
            intents=(left,),
        )

    def test_may_be_of_no_swaps_payment(self) -> None:
        left = replace(CLAIM, state=IntentState.BROADCAST, slot_at=LOG.block_time)

        assert leave_to_operators(None, CLAIM, LOG, at=NOON) == Changes(intents=(left,))

    def test_of_a_refuel_completes_a_swap_that_waited_for_it(self) -> None:
        swap = reserved(refuel=True)
        final = confirm_external_payment(
            swap, output_of(swap), LOG, at=NOON, treasury=HERE, refuel_id=refuel_id_of(swap)
        ).swap
        assert final is not None
        assert final.refuel is not None

        change = leave_to_operators(final, final.refuel, LOG, at=NOON + HOUR)

        assert change.swap is not None
        assert (change.swap.status, change.swap.closed_at) == (Status.COMPLETED, NOON + HOUR)


class TestAPaymentThatIsNoSwaps:
    def test_is_sent_once(self) -> None:
        sent = replace(CLAIM, state=IntentState.BROADCAST)

        assert mark_standalone_sent(CLAIM, at=NOON) == Changes(intents=(sent,))
        for state in set(IntentState) - {IntentState.ASSIGNED}:
            assert mark_standalone_sent(replace(CLAIM, state=state), at=NOON) is NOTHING

    def test_is_shown_in_its_block_and_booked_when_it_is_final(self) -> None:
        out = with_signed_attempts(CLAIM, LOG.transaction_hash)
        seen = decide(None, a_payout("seen"), at=NOON, treasury=HERE, standalone_intent=out)
        [mined] = seen.intents
        final = decide(None, LOG, at=NOON + HOUR, treasury=HERE, standalone_intent=mined)
        [confirmed] = final.intents

        assert (mined.state, seen.ledger) == (IntentState.MINED, ())
        assert (mined.block_number, mined.version) == (500, 1)
        assert (confirmed.state, confirmed.confirmed_at) == (IntentState.CONFIRMED, NOON + HOUR)
        assert final == Changes(
            intents=(confirmed,),
            ledger=(ledger.payout_final(confirmed, block_number=500, treasury=HERE),),
        )

    def test_waits_again_when_a_reorg_took_its_block(self) -> None:
        mined = replace(
            with_signed_attempts(CLAIM, LOG.transaction_hash, state=IntentState.MINED), version=1
        )

        change = decide(None, a_payout("reverted"), at=NOON, treasury=HERE, standalone_intent=mined)

        assert [one.state for one in change.intents] == [IntentState.BROADCAST]

    @pytest.mark.parametrize(
        ("intent", "release"), [(CLAIM, ledger.claim_released), (FEE, ledger.partner_fee_released)]
    )
    def test_that_is_dead_is_owed_again(self, intent: Intent, release: object) -> None:
        change = abandon_standalone_intent(intent, because="so", failures=3)

        [dead] = change.intents
        assert dead == intent.as_dead("so", failures=3)
        assert callable(release)
        assert change.ledger == (release(dead),)

    @pytest.mark.parametrize("state", [IntentState.MINED, IntentState.CONFIRMED])
    def test_in_a_block_is_not_given_up(self, state: IntentState) -> None:
        assert (
            abandon_standalone_intent(replace(CLAIM, state=state), because="", failures=1)
            is NOTHING
        )

    def test_halts_unless_it_equals_the_order(self) -> None:
        out = with_signed_attempts(CLAIM, LOG.transaction_hash)
        other = replace(LOG, base_units=PAYOUT - 1)

        assert decide(None, other, at=NOON, treasury=HERE, standalone_intent=out).halt is not None


class TestAPaymentThatWaitsTooLong:
    def test_is_given_up_while_it_is_unsigned(self) -> None:
        swap = reserved()

        change = abandon_waiting_payout(swap, output_of(swap).id, at=NOON + HOUR)

        assert change.swap is not None
        assert change.swap.status is Status.REFUND_PENDING
        assert change.swap.changed_at == NOON + HOUR
        proof = {"because": TOO_LONG, "attempts": 0, "failures": 0}
        assert json.loads(change.intents[0].dead_proof or "") == proof

    def test_is_left_to_its_own_end_once_it_was_signed(self) -> None:
        swap = reserved()
        out = swap.with_intent(with_signed_attempts(output_of(swap)))

        assert abandon_waiting_payout(out, output_of(swap).id, at=NOON) is NOTHING
        assert abandon_waiting_payout(swap, swap.id, at=NOON) is NOTHING

    def test_is_no_refuel(self) -> None:
        swap = reserved(refuel=True)
        final = confirm_external_payment(
            swap, output_of(swap), LOG, at=NOON, treasury=HERE, refuel_id=refuel_id_of(swap)
        ).swap
        assert final is not None
        assert final.refuel is not None

        assert abandon_waiting_payout(final, final.refuel.id, at=NOON) is NOTHING
