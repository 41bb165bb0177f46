"""A refuel: bought with the output, sent after it, and never blocking it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from services.settler.tests.factories import (
    MINUTE,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    RECIPIENT,
    REFUEL,
    REFUEL_CHARGED,
    REQUESTED,
    TREASURY,
    USER,
    a_deposit_fact,
    a_payout,
    a_swap,
    swap_of,
    with_signed_attempts,
)
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.messages.message_mapping import paid_id_of, refuel_id_of
from swap_settler.model.swap import DepositState, Intent, IntentKind, IntentState, Swap
from swap_settler.model.work_due import WAITS_FOR, work_due
from swap_settler.settling.decide import deposits, payouts, refuels

HASH = "0x" + "11" * 32


def bought(*, coins: int = REFUEL, **more: Any) -> Changes:
    swap = a_swap(refund_address=USER, refuel=True)
    return deposits.decide(
        swap,
        a_deposit_fact("confirmed", **more),
        at=NOON,
        available=PLENTY,
        paid_id=paid_id_of(swap),
        refuel_available=coins,
    )


def changes_of_fact(swap: Swap, intent: Intent | None, state: str, **more: Any) -> Changes:
    assert intent is not None
    swap = swap.with_intent(with_signed_attempts(intent, HASH, state=intent.state))
    log = a_payout(
        state,
        transaction_hash=HASH,
        intent_id=str(intent.paid_id),
        network=intent.network,
        token=intent.token,
        to_address=intent.to_address,
        base_units=str(intent.base_units),
        **more,
    )
    treasury, id = TREASURY[POLYGON], refuel_id_of(swap)
    return payouts.decide(swap, log, at=NOON, treasury=treasury, refuel_id=id)


def in_a_block() -> Swap:
    swap = swap_of(bought())
    return swap_of(changes_of_fact(swap, swap.output, "seen"))


def final() -> Swap:
    swap = in_a_block()
    return swap_of(changes_of_fact(swap, swap.output, "confirmed"))


def refuel_of(swap: Swap) -> Intent:
    assert swap.refuel is not None
    return swap.refuel


def sent(swap: Swap) -> Changes:
    out = swap.with_intent(with_signed_attempts(refuel_of(swap), HASH, state=IntentState.ASSIGNED))
    return payouts.mark_sent(out, refuel_of(swap).id, at=NOON)


def kinds(change: Changes) -> list[str]:
    return [entry.kind for entry in change.ledger]


def owed(*changes: Changes, kind: AccountKind, token: str = NATIVE) -> int:
    return -sum(
        posting.base_units
        for change in changes
        for entry in change.ledger
        for posting in entry.postings
        if posting.account.kind is kind and posting.account.token == token
    )


class TestBuying:
    def test_is_booked_beside_the_output_and_ordered_later(self) -> None:
        change = bought()

        [output] = change.intents
        assert (output.kind, output.base_units) == (IntentKind.OUTPUT, PAYOUT)
        assert output.charged_base_units == REQUESTED - REFUEL_CHARGED
        assert kinds(change) == ["credited", "quote_executed", "payout_reserved", "refuel_bought"]
        assert owed(change, kind=AccountKind.REFUEL_LIABILITY) == REFUEL

    def test_that_cannot_be_given_goes_back_and_the_output_is_paid_as_quoted(self) -> None:
        change = bought(coins=REFUEL - 1)

        swap = swap_of(change)
        [output] = change.intents
        assert (output.base_units, output.charged_base_units) == (
            PAYOUT,
            REQUESTED - REFUEL_CHARGED,
        )
        assert swap.quote.refuel is None
        [deposit] = change.deposits
        assert deposit.returned_base_units == REFUEL_CHARGED
        assert change.refunds_due == (deposit.id,)
        assert '"refuel_base_units": null' in swap.quote.document


class TestOrdering:
    def test_waits_for_the_output_to_be_in_a_block(self) -> None:
        swap = swap_of(bought())
        assert swap.refuel is None

        change = changes_of_fact(swap, swap.output, "seen")

        [_, refuel] = change.intents
        assert (refuel.kind, refuel.network, refuel.token) == (IntentKind.REFUEL, POLYGON, NATIVE)
        assert (refuel.to_address, refuel.base_units) == (RECIPIENT, REFUEL)
        assert refuel.charged_base_units == REFUEL_CHARGED
        assert kinds(change) == ["refuel_reserved"]

    def test_happens_once_however_often_the_output_is_mined(self) -> None:
        swap = in_a_block()
        unmined = swap_of(changes_of_fact(swap, swap.output, "reverted", version=3))

        change = changes_of_fact(unmined, unmined.output, "seen", version=4)

        assert [intent.kind for intent in change.intents] == [IntentKind.OUTPUT]

    def test_happens_also_without_a_report_of_the_output(self) -> None:
        swap = swap_of(bought())

        change = changes_of_fact(swap, swap.output, "confirmed")

        assert swap_of(change).status is Status.PAYOUT_PENDING
        assert kinds(change) == ["payout_final", "refuel_reserved"]

    def test_has_a_payment_id_of_its_own(self) -> None:
        swap = in_a_block()

        assert refuel_of(swap).paid_id != paid_id_of(swap)


class TestCompleting:
    def test_waits_for_the_refuel_to_leave(self) -> None:
        swap = in_a_block()
        change = changes_of_fact(swap, swap.output, "confirmed")
        assert swap_of(change).status is Status.PAYOUT_PENDING
        assert work_due([change]).completions == {swap.id: NOON + WAITS_FOR}

        ended = swap_of(sent(swap_of(change)))

        assert (ended.status, ended.closed_at) == (Status.COMPLETED, NOON)

    def test_does_not_wait_where_it_has_left_before(self) -> None:
        swap = swap_of(sent(in_a_block()))
        assert swap.status is Status.PAYOUT_PENDING

        assert swap_of(changes_of_fact(swap, swap.output, "confirmed")).status is Status.COMPLETED

    def test_happens_when_the_refuel_is_seen_first(self) -> None:
        swap = final()

        assert swap_of(changes_of_fact(swap, swap.refuel, "seen")).status is Status.COMPLETED

    def test_leaves_the_refuel_to_its_own_end(self) -> None:
        swap = swap_of(sent(final()))

        change = changes_of_fact(swap, swap.refuel, "confirmed")

        assert swap_of(change).status is Status.COMPLETED
        assert kinds(change) == ["refuel_final"]
        custody = change.ledger[0].postings[1].account
        assert (custody.network, custody.token) == (POLYGON, NATIVE)


class TestARefuelThatCannotBeSent:
    def test_in_time_is_claimable_and_the_swap_completes_without_it(self) -> None:
        change = refuels.overdue(final(), at=NOON + 2 * MINUTE)

        swap = swap_of(change)
        assert change.cause is ChangeCause.REFUEL_OVERDUE
        assert (swap.status, swap.quote.refuel) == (Status.COMPLETED, None)
        assert swap.closed_at == NOON + 2 * MINUTE
        assert [intent.state for intent in change.intents] == [IntentState.DEAD]
        assert kinds(change) == ["refuel_released", "refuel_claimable"]
        assert owed(change, kind=AccountKind.CLAIMABLE) == REFUEL

    def test_is_no_loss_of_the_deposit_that_a_reorg_took(self) -> None:
        swap = swap_of(sent(final()))
        [deposit] = swap.deposits.values()
        after_reorg = swap.with_deposit(replace(deposit, state=DepositState.REVERTED))

        change = changes_of_fact(after_reorg, refuel_of(after_reorg), "confirmed")

        assert kinds(change) == ["refuel_final"]

    def test_but_was_signed_is_not_cancelled(self) -> None:
        swap = final()
        out = swap.with_intent(
            with_signed_attempts(refuel_of(swap), HASH, state=IntentState.ASSIGNED)
        )

        change = refuels.overdue(out, at=NOON + 2 * MINUTE)

        assert swap_of(change).status is Status.COMPLETED
        assert (change.intents, change.ledger) == ((), ())

    def test_but_may_be_paid_externally_is_not_cancelled(self) -> None:
        change = refuels.overdue(final(), at=NOON + 2 * MINUTE, may_be_paid=True)

        assert swap_of(change).status is Status.COMPLETED
        assert (change.intents, change.ledger) == ((), ())

    @pytest.mark.parametrize("status", [s for s in Status if s is not Status.PAYOUT_PENDING])
    def test_moves_no_other_status(self, status: Status) -> None:
        assert refuels.overdue(replace(final(), status=status), at=NOON) is NOTHING

    def test_before_its_output_is_final_is_decided_about_then(self) -> None:
        swap = in_a_block()
        dead = payouts.abandon_payment(swap, refuel_of(swap).id, at=NOON, because="", failures=5)
        assert kinds(dead) == ["refuel_released"]
        assert swap_of(dead).status is Status.PAYOUT_PENDING

        change = changes_of_fact(swap_of(dead), swap_of(dead).output, "confirmed")

        assert swap_of(change).status is Status.COMPLETED
        assert kinds(change) == ["payout_final", "refuel_claimable"]

    def test_after_the_end_is_claimable(self) -> None:
        swap = swap_of(sent(final()))

        change = payouts.abandon_payment(swap, refuel_of(swap).id, at=NOON, because="", failures=5)

        assert swap_of(change).status is Status.COMPLETED
        assert kinds(change) == ["refuel_released", "refuel_claimable"]
        assert swap_of(change).quote.spent_on_refuel == REFUEL_CHARGED


class TestAnOutputThatDies:
    def abandoned(self, swap: Swap) -> Changes:
        assert swap.output is not None
        unmined = replace(swap.output, state=IntentState.BROADCAST)
        dead = swap.with_intent(unmined)
        return payouts.abandon_payment(dead, unmined.id, at=NOON, because="it reverted", failures=5)

    def test_takes_its_refuel_with_it(self) -> None:
        change = self.abandoned(in_a_block())

        swap = swap_of(change)
        refuel = refuel_of(in_a_block())
        assert [i for i in change.intents if i.kind is IntentKind.REFUEL] == [
            refuel.as_dead("its output is dead")
        ]
        assert {i.state for i in change.intents} == {IntentState.DEAD}
        assert {"refuel_released", "refuel_unbought"} <= set(kinds(change))
        assert swap.status is Status.REFUND_PENDING
        assert swap.refundable_base_units == REQUESTED

    def test_leaves_less_to_go_back_when_its_refuel_was_sent(self) -> None:
        change = self.abandoned(swap_of(sent(in_a_block())))

        swap = swap_of(change)
        assert swap.refuel is not None
        assert swap.refundable_base_units == REQUESTED - REFUEL_CHARGED
        assert "refuel_unbought" not in kinds(change)

    def test_before_anything_was_ordered_gives_back_all(self) -> None:
        change = self.abandoned(swap_of(bought()))

        assert "refuel_unbought" in kinds(change)
        assert owed(change, kind=AccountKind.REFUEL_LIABILITY) == -REFUEL


def test_refuel_waits_two_minutes() -> None:
    assert timedelta(minutes=2) == WAITS_FOR
