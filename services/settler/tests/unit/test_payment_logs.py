"""Changes of a payment by a Treasury's log: its block, its end, a reorg, or a halt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    MINUTE,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    REFUEL,
    REFUEL_CHARGED,
    REQUESTED,
    TREASURY,
    USDC,
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
from swap_settler.model.changes import NOTHING, Changes, Halt
from swap_settler.model.ledger import ledger
from swap_settler.model.messages.message_mapping import paid_id_of, refuel_id_of
from swap_settler.model.swap import DepositState, FailReason, IntentKind, IntentState, Swap
from swap_settler.settling.decide import deposits, payouts
from swap_settler.settling.decide.payouts import abandon_payment, decide
from swap_settler.settling.decide.refunds import start

HERE = TREASURY[POLYGON]
AT = NOON + HOUR
LOG = a_payout()


def reserved(*, refuel: bool = False) -> Swap:
    swap = a_swap(refund_address=USER, refuel=refuel)
    return swap_of(
        deposits.decide(
            swap,
            a_deposit_fact(),
            at=NOON,
            available=PLENTY,
            paid_id=paid_id_of(swap),
            refuel_available=REFUEL,
        )
    )


def out(state: IntentState = IntentState.BROADCAST, **more: Any) -> Swap:
    swap = reserved()
    return swap.with_intent(replace(with_signed_attempts(output_of(swap), state=state), **more))


def decided(swap: Swap | None, state: str, **more: Any) -> Changes:
    return decide(swap, a_payout(state, **more), at=AT, treasury=HERE)


class TestALogThatNothingExplains:
    HALT = Halt(
        POLYGON,
        f"payment {LOG.paid_id} in {LOG.transaction_hash} is not one we ordered",
        is_evidence=True,
        at=LOG.block_time,
    )

    @pytest.mark.parametrize("state", ["seen", "reverted"])
    def test_halts_its_network_at_once(self, state: str) -> None:
        assert decided(None, state) == Changes(halt=self.HALT)

    def test_is_booked_once_it_is_final(self) -> None:
        entry = ledger.payout_unexplained(
            network=POLYGON,
            token=LOG.token,
            paid_id=LOG.paid_id,
            transaction_hash=LOG.transaction_hash,
            base_units=PAYOUT,
            block_number=500,
            treasury=HERE,
        )

        assert decided(None, "confirmed") == Changes(ledger=(entry,), halt=self.HALT)

    def test_of_a_token_that_is_not_in_the_books_only_halts(self) -> None:
        assert decide(None, LOG, at=AT, treasury=None) == Changes(halt=self.HALT)

    def test_of_the_same_id_at_another_treasury_is_another_payment(self) -> None:
        assert decided(out(), "seen", network="ELSEWHERE").halt is not None


class TestAFinalPayment:
    FINAL = replace(
        out(IntentState.CONFIRMED, version=2, confirmed_at=NOON), status=Status.COMPLETED
    )

    def test_keeps_its_end_when_it_is_mined_in_another_block(self) -> None:
        change = decided(self.FINAL, "seen", version=3, block_number=501)

        again = replace(
            output_of(self.FINAL),
            version=3,
            transaction_hash=LOG.transaction_hash,
            block_number=501,
            block_hash=LOG.block_hash,
            block_time=LOG.block_time,
        )
        assert change == Changes(
            swap=self.FINAL.on(AT).with_intent(again),
            previous_status=Status.COMPLETED,
            cause=ChangeCause.PAYOUT_MINED,
            intents=(again,),
        )

    def test_that_a_reorg_removes_is_broadcast_again_and_halts(self) -> None:
        mined = swap_of(decided(self.FINAL, "confirmed", version=3))

        change = decided(mined, "reverted", version=4)

        unmined = replace(
            output_of(mined), version=4, block_number=None, block_hash=None, block_time=None
        )
        assert unmined.state is IntentState.CONFIRMED
        assert unmined.transaction_hash == LOG.transaction_hash
        reason = f"final payment {LOG.paid_id} in {LOG.transaction_hash} was reverted"
        assert change == Changes(
            swap=mined.on(AT).with_intent(unmined),
            previous_status=Status.COMPLETED,
            cause=ChangeCause.PAYOUT_REVERTED,
            intents=(unmined,),
            halt=Halt(POLYGON, reason),
        )


class TestAReorg:
    @pytest.mark.parametrize(
        ("state", "is_open", "left"),
        [
            (IntentState.MINED, True, IntentState.BROADCAST),
            (IntentState.MINED, False, IntentState.RESERVED),  # its nonce is proven dead
            (IntentState.BROADCAST, True, IntentState.BROADCAST),
            (IntentState.ASSIGNED, True, IntentState.ASSIGNED),
        ],
    )
    def test_takes_a_payment_out_of_its_block(
        self, state: IntentState, left: IntentState, *, is_open: bool
    ) -> None:
        mined = swap_of(decided(out(), "seen"))
        swap = mined.with_intent(replace(output_of(mined), state=state, has_open_attempt=is_open))

        [intent] = decided(swap, "reverted").intents

        assert intent == replace(
            output_of(swap),
            state=left,
            version=3,
            transaction_hash=None,
            block_number=None,
            block_hash=None,
            block_time=None,
        )

    def test_seen_log_of_a_payment_proven_dead_does_not_revive_it(self) -> None:
        dead = out(IntentState.RESERVED, has_open_attempt=False)

        late = decided(dead, "seen")

        assert late.intents == (replace(output_of(dead), version=1),)
        assert late.cause is ChangeCause.PAYOUT_REVERTED
        assert decided(dead, "confirmed").intents[0].state is IntentState.CONFIRMED
        is_open = out(IntentState.RESERVED)
        assert decided(is_open, "seen").intents[0].state is IntentState.MINED


CLAIMED: dict[str, Any] = {
    "kind": IntentKind.CLAIM,
    "network": ETHEREUM,
    "token": USDC[ETHEREUM],
    "base_units": REQUESTED,
    "charged_base_units": REQUESTED,
}


def after_a_reorg(swap: Swap, units: int = REQUESTED) -> Swap:
    """Return the swap after a reorg removed its deposit."""
    fact = a_deposit_fact("reverted", units=units)
    return swap_of(deposits.decide(swap, fact, at=NOON, available=0, paid_id=1))


class TestAPaymentWhoseMoneyAReorgTook:
    def test_is_a_loss_once_it_is_final(self) -> None:
        swap = after_a_reorg(out())

        change = decided(swap, "confirmed")

        [deposit] = swap.deposits.values()
        final = output_of(swap_of(change))
        assert change.ledger == (
            ledger.payout_final(final, block_number=500, treasury=HERE),
            ledger.deposit_lost(swap_of(change), deposit),
        )
        assert swap_of(change).status is Status.COMPLETED

    def test_reverses_its_credit_when_it_is_abandoned(self) -> None:
        swap = after_a_reorg(out())
        [deposit] = swap.deposits.values()

        change = abandon_payment(swap, output_of(swap).id, at=AT, because="so", failures=1)

        updated_swap = swap_of(change)
        assert updated_swap.status is Status.DEPOSIT_PENDING
        assert updated_swap.fail_reason is None
        [left] = change.deposits
        assert left == replace(deposit, is_booked=False, returned_base_units=0)
        assert left.state is DepositState.REVERTED
        assert [entry.kind for entry in change.ledger] == [
            "payout_released",
            "quote_reversed",
            "credit_reversed",
        ]
        assert change.ledger[-1].dedupe_key == f"credit_reversed/{deposit.id}/{deposit.version}"

    @pytest.mark.parametrize("kind", [IntentKind.REFUND, IntentKind.CLAIM])
    def test_of_a_late_deposit_is_no_longer_claimable_and_leaves_the_swap(
        self, kind: IntentKind
    ) -> None:
        fact = a_deposit_fact(units=1_000)
        over = replace(a_swap(refund_address=USER), status=Status.COMPLETED)
        late = swap_of(deposits.decide(over, fact, at=NOON, available=0, paid_id=1))
        leg = fact.deposit.id
        refund = start(late, leg, at=NOON, cost=0, paid_id=2)
        payment = with_signed_attempts(replace(refund.intents[0], kind=kind))
        after_loss = after_a_reorg(late.with_intent(payment), units=1_000)
        known = after_loss.deposits[leg]

        change = abandon_payment(after_loss, payment.id, at=AT, because="so", failures=1)

        updated_swap = swap_of(change)
        assert updated_swap.status is Status.COMPLETED
        left = replace(known, is_booked=False, returned_base_units=0)
        assert change.deposits == (left,)
        assert left.state is DepositState.REVERTED
        assert change.ledger[-2:] == (
            ledger.claim_reversed(updated_swap, known, leg, version=known.version),
            ledger.credit_reversed(updated_swap, known, version=known.version),
        )
        assert change.intents == (payment.as_dead("so", failures=1),)

    def test_of_a_failed_swap_that_was_claimed_is_owed_no_more(self) -> None:
        short = swap_of(
            deposits.decide(a_swap(), a_deposit_fact(), at=NOON, available=0, paid_id=1)
        )
        claim = with_signed_attempts(replace(output_of(reserved()), **CLAIMED))
        after_loss = after_a_reorg(short.with_intent(claim))
        [known] = after_loss.deposits.values()

        change = abandon_payment(after_loss, claim.id, at=AT, because="so", failures=1)

        updated_swap = swap_of(change)
        assert updated_swap.status is Status.FAILED
        assert change.ledger[-2:] == (
            ledger.claim_reversed(updated_swap, known, None, version=known.version),
            ledger.credit_reversed(updated_swap, known, version=known.version),
        )

    def test_has_its_refuel_abandoned_and_claimable_when_it_fails_too(self) -> None:
        swap = reserved(refuel=True)
        log = a_payout("seen")
        mined = decide(
            swap.with_intent(with_signed_attempts(output_of(swap))),
            log,
            at=NOON,
            treasury=HERE,
            refuel_id=refuel_id_of(swap),
        )
        with_refuel = swap_of(mined)
        assert with_refuel.refuel is not None
        # Both are broadcast at the reorg, and the output is cancelled in its slot.
        both = with_refuel.with_intent(with_signed_attempts(with_refuel.refuel, "0x" + "12" * 32))
        both = both.with_intent(replace(output_of(both), state=IntentState.BROADCAST))
        after_loss = after_a_reorg(both)

        change = abandon_payment(
            after_loss, output_of(after_loss).id, at=AT, because="so", failures=1
        )

        after = swap_of(change)
        assert after.refuel is not None
        free = replace(
            with_signed_attempts(with_refuel.refuel, "0x" + "12" * 32), charged_base_units=0
        )
        assert after.refuel == free
        assert free in change.intents
        assert [entry.kind for entry in change.ledger] == [
            "payout_released",
            "quote_reversed",
            "refuel_lost",
            "credit_reversed",
        ]
        lost = change.ledger[2]
        assert sorted(p.base_units for p in lost.postings) == [-REFUEL_CHARGED, REFUEL_CHARGED]

        dead = abandon_payment(after, free.id, at=AT, because="so", failures=1)

        assert [entry.kind for entry in dead.ledger] == ["refuel_released", "refuel_kept"]
        forgotten = swap_of(dead)
        assert (forgotten.quote.refuel, forgotten.quote.spent_on_refuel) == (None, 0)
        assert dead.ledger[1] == ledger.refuel_charge_retained(forgotten, free)


class TestADeadPayment:
    def test_of_an_output_starts_a_refund(self) -> None:
        swap = out()

        change = abandon_payment(swap, output_of(swap).id, at=AT, because="so", failures=1)

        pending = swap_of(change)
        assert (pending.status, pending.changed_at) == (Status.REFUND_PENDING, AT)
        assert pending.fail_reason is FailReason.DESTINATION_UNAVAILABLE
        assert change.refunds_due == (None,)  # of the main leg
        assert change.previous_status is Status.PAYOUT_PENDING

    def test_of_a_claim_leaves_the_swap_as_it_was(self) -> None:
        claim = replace(
            with_signed_attempts(output_of(reserved())),
            kind=IntentKind.CLAIM,
            base_units=5,
            charged_base_units=5,
        )
        swap = replace(a_swap(), status=Status.FAILED).with_intent(claim)

        change = abandon_payment(swap, claim.id, at=AT, because="so", failures=1)

        dead = claim.as_dead("so", failures=1)
        assert change == Changes(
            swap=swap.on(AT).with_intent(dead),
            previous_status=Status.FAILED,
            cause=ChangeCause.REFUND_ABANDONED,
            intents=(dead,),
            ledger=(ledger.claim_released(dead),),
        )

    def test_of_an_unknown_id_changes_nothing(self) -> None:
        assert abandon_payment(out(), a_swap().id, at=AT, because="", failures=0) is NOTHING

    def test_fails_for_a_reason_only_on_the_main_leg(self) -> None:
        swap = out()
        reason = FailReason.REJECTED_BY_POLICY

        change = payouts.abandon_payment(
            swap, output_of(swap).id, at=AT, because="so", failures=0, fails_for=reason
        )

        failed = swap_of(change)
        assert (failed.status, failed.fail_reason) == (Status.FAILED, reason)
        assert change.ledger[-1] == ledger.claimable(failed, REQUESTED)
        assert change.refunds_due == ()


def test_a_payment_is_marked_sent_at_the_time_that_the_lane_gives() -> None:
    swap = out(IntentState.ASSIGNED)

    change = payouts.mark_sent(swap, output_of(swap).id, at=NOON + MINUTE)

    gone = replace(output_of(swap), state=IntentState.BROADCAST)
    assert change == Changes(
        swap=swap.on(NOON + MINUTE).with_intent(gone),
        previous_status=Status.PAYOUT_PENDING,
        cause=ChangeCause.PAYOUT_SENT,
        intents=(gone,),
    )
