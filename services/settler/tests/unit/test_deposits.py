from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    FEE,
    HOUR,
    LATER,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    QUOTED_UNTIL,
    RECIPIENT,
    REQUESTED,
    USDC,
    a_deposit,
    a_deposit_fact,
    a_payout,
    a_swap,
    swap_of,
    with_signed_attempts,
)
from swap_domain.lifecycle import Status
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger.accounts import Account, AccountKind, Holder
from swap_settler.model.swap import DepositState, FailReason, IntentKind, IntentState, Method, Swap
from swap_settler.settling.decide import payouts
from swap_settler.settling.decide.deposits import attach, decide, decide_unmatched, take

PAID_ID = 2**256 - 1


def changes_of_fact(
    swap: Swap, state: str = "confirmed", *, available: int = PLENTY, **more: Any
) -> Changes:
    at: datetime = more.pop("at", NOON)
    more.setdefault("received_at", at)
    fact = a_deposit_fact(state, **more)
    return decide(swap, fact, at=at, available=available, paid_id=PAID_ID)


def after(swap: Swap, *facts: tuple[str, dict[str, Any]]) -> Swap:
    for state, more in facts:
        changed = changes_of_fact(swap, state, **more).swap
        assert changed is not None
        swap = changed
    return swap


def postings(changes: Changes) -> dict[str, list[int]]:
    return {entry.kind: [p.base_units for p in entry.postings] for entry in changes.ledger}


def paid_for(**more: Any) -> Swap:
    return after(a_swap(), ("confirmed", more))


def with_output(swap: Swap, **changed: Any) -> Swap:
    assert swap.output is not None
    return swap.with_intent(replace(swap.output, **changed))


def out(swap: Swap) -> Swap:
    """Return the swap with a signed payment in flight."""
    assert swap.output is not None
    return swap.with_intent(with_signed_attempts(swap.output))


def completed(swap: Swap) -> Swap:
    change = payouts.decide(
        out(swap), replace(a_payout(), paid_id=PAID_ID), at=NOON, treasury="0xtreasury"
    )
    return swap_of(change)


class TestSeen:
    def test_locks_the_quote_when_the_whole_sum_is_there_on_time(self) -> None:
        change = changes_of_fact(a_swap(), "seen")

        assert change.swap is not None
        assert change.swap.quote.locked_at == NOON
        assert change.swap.status is Status.DEPOSIT_PENDING
        assert change.swap.sequence == 2
        assert change.ledger == ()

    def test_locks_no_quote_for_a_part(self) -> None:
        swap = after(a_swap(), ("seen", {"units": REQUESTED - 1}))

        assert swap.quote.locked_at is None

    def test_locks_the_quote_with_the_last_part(self) -> None:
        swap = after(
            a_swap(),
            ("seen", {"units": REQUESTED - 1}),
            ("seen", {"units": 1, "nth": 1, "at": NOON + HOUR, "received_at": QUOTED_UNTIL}),
        )

        assert swap.quote.locked_at == NOON + HOUR

    @pytest.mark.parametrize(
        ("block_time", "received_at", "is_locked"),
        [
            (QUOTED_UNTIL, LATER, True),  # mined on time, reported late
            (LATER, QUOTED_UNTIL, True),  # reported on time, mined with a later clock
            (LATER, LATER, False),
        ],
    )
    def test_is_on_time_by_the_block_or_by_our_clock(
        self, block_time: datetime, received_at: datetime, is_locked: bool
    ) -> None:
        swap = after(a_swap(), ("seen", {"block_time": block_time, "received_at": received_at}))

        assert (swap.quote.locked_at is not None) is is_locked

    def test_locks_no_quote_of_a_swap_that_has_ended(self) -> None:
        swap = replace(a_swap(), status=Status.EXPIRED)

        assert after(swap, ("seen", {})).quote.locked_at is None

    def test_counts_from_its_first_report(self) -> None:
        swap = after(a_swap(), ("seen", {}), ("confirmed", {"at": LATER}))

        [deposit] = swap.deposits.values()
        assert deposit.received_at == NOON

    def test_of_an_address_that_had_no_swap_is_the_swap_s(self) -> None:
        quarantined = replace(a_deposit(number=None), state=DepositState.QUARANTINED)

        change = take(
            a_swap(),
            quarantined,
            since=NOON,
            at=NOON,
            cause=ChangeCause.DEPOSIT_ATTACHED,
            available=PLENTY,
            paid_id=PAID_ID,
        )

        assert [(d.state, d.swap_id) for d in change.deposits] == [(DepositState.SEEN, a_swap().id)]

    def test_has_no_effect_in_a_version_that_is_not_newer(self) -> None:
        swap = after(a_swap(), ("confirmed", {}))

        assert changes_of_fact(swap, "seen") is NOTHING
        assert changes_of_fact(swap, "confirmed") is NOTHING


class TestConfirmed:
    def test_executes_the_quote_and_reserves_the_payout(self) -> None:
        change = changes_of_fact(a_swap())

        assert change.swap is not None
        assert change.previous_status is Status.DEPOSIT_PENDING
        assert change.swap.status is Status.PAYOUT_PENDING
        assert change.swap.sequence == 2
        [output] = change.intents
        assert (output.state, output.kind, output.paid_id) == (
            IntentState.RESERVED,
            IntentKind.OUTPUT,
            PAID_ID,
        )
        assert (output.network, output.token) == (POLYGON, USDC[POLYGON])
        assert (output.to_address, output.base_units) == (RECIPIENT, PAYOUT)
        assert (output.due_at, output.charged_base_units) == (NOON, REQUESTED)
        assert output.usd_micros == 998_000
        assert postings(change) == {
            "credited": [REQUESTED, -REQUESTED],
            "quote_executed": [REQUESTED, FEE - REQUESTED, -FEE, PAYOUT, -PAYOUT],
            "payout_reserved": [PAYOUT, -PAYOUT],
        }

    def test_waits_for_the_other_seen_deposits(self) -> None:
        seen = after(
            a_swap(),
            ("seen", {"units": REQUESTED - 1}),
            ("seen", {"units": 1, "nth": 1}),
        )

        change = changes_of_fact(seen, units=REQUESTED - 1)

        assert change.swap is not None
        assert change.swap.status is Status.DEPOSIT_PENDING
        assert set(postings(change)) == {"credited"}
        done = changes_of_fact(change.swap, units=1, nth=1)
        assert done.swap is not None
        assert done.swap.status is Status.PAYOUT_PENDING

    @pytest.mark.fault("W14")
    def test_does_not_let_dust_hold_up_a_sum_that_fits(self) -> None:
        seen = after(a_swap(), ("seen", {}), ("seen", {"units": 1, "nth": 1}))

        assert after(seen, ("confirmed", {})).status is Status.PAYOUT_PENDING

    @pytest.mark.fault("M4")
    def test_asks_for_another_quote_after_the_first_has_expired(self) -> None:
        change = changes_of_fact(a_swap(), at=LATER, block_time=LATER)

        assert change.is_requote_due
        assert change.swap is not None
        assert (change.swap.status, change.swap.quote.locked_at) == (Status.DEPOSIT_PENDING, None)
        assert [entry.kind for entry in change.ledger] == ["credited"]

    def test_fails_with_the_money_claimable(self) -> None:
        units, at, reason = REQUESTED, NOON, FailReason.INSUFFICIENT_LIQUIDITY

        change = changes_of_fact(a_swap(), available=PAYOUT - 1)

        assert change.swap is not None
        assert (change.swap.status, change.swap.fail_reason) == (Status.FAILED, reason)
        assert change.swap.closed_at == at
        assert change.intents == ()
        assert postings(change) == {"credited": [units, -units], "claimable": [units, -units]}
        claim = change.ledger[1].postings[1].account
        assert claim == Account(
            AccountKind.CLAIMABLE, ETHEREUM, USDC[ETHEREUM], swap_id=change.swap.id
        )

    @pytest.mark.parametrize("available", [PAYOUT, PAYOUT + 1])
    def test_pays_out_of_the_last_unit(self, available: int) -> None:
        change = changes_of_fact(a_swap(), available=available)

        assert change.swap is not None
        assert change.swap.status is Status.PAYOUT_PENDING

    @pytest.mark.fault("M4")
    def test_pays_a_late_confirmation_of_a_locked_quote(self) -> None:
        swap = after(a_swap(), ("seen", {}), ("confirmed", {"at": LATER}))

        assert swap.status is Status.PAYOUT_PENDING

    @pytest.mark.parametrize(
        "status", [Status.EXPIRED, Status.FAILED, Status.COMPLETED, Status.PAYOUT_PENDING]
    )
    def test_puts_a_late_deposit_on_its_own_leg(self, status: Status) -> None:
        swap = replace(a_swap(), status=status)

        change = changes_of_fact(swap, nth=5)

        assert change.swap is not None
        assert (change.swap.status, change.swap.sequence) == (status, 2)
        [deposit] = change.deposits
        assert deposit.returned_base_units == deposit.base_units == REQUESTED
        assert set(postings(change)) == {"credited", "returned"}
        claim = change.ledger[1].postings[1].account
        assert (claim.kind, claim.deposit_id) == (AccountKind.CLAIMABLE, deposit.id)

    def test_books_custody_at_the_treasury_with_the_block_of_its_chain(self) -> None:
        change = changes_of_fact(a_swap())

        custody = change.ledger[0].postings[0].account
        assert (custody.kind, custody.holder) == (AccountKind.CUSTODY, Holder.TREASURY)
        assert (change.ledger[0].network, change.ledger[0].effective_block) == (ETHEREUM, 102)

    def test_orders_no_refund_without_an_address(self) -> None:
        assert changes_of_fact(replace(a_swap(), status=Status.EXPIRED)).refunds_due == ()


class TestReverted:
    def test_drops_what_was_not_credited_and_unlocks_the_quote(self) -> None:
        swap = after(a_swap(), ("seen", {}))

        change = changes_of_fact(swap, "reverted")

        assert change.swap is not None
        assert change.swap.quote.locked_at is None
        assert change.deposits[0].state is DepositState.REVERTED
        assert change.ledger == ()

    def test_keeps_the_lock_that_others_hold(self) -> None:
        swap = after(a_swap(), ("seen", {}), ("seen", {"nth": 1}))

        assert after(swap, ("reverted", {"nth": 1})).quote.locked_at == NOON

    @pytest.mark.parametrize("state", [IntentState.RESERVED, IntentState.ASSIGNED])
    def test_reverses_an_unsigned_payout(self, state: IntentState) -> None:
        swap = with_output(paid_for(), state=state)
        late = DEADLINE - HOUR / 2

        change = changes_of_fact(swap, "reverted", at=late)

        assert change.swap is not None
        assert change.swap.status is Status.DEPOSIT_PENDING
        assert change.swap.quote.locked_at is None
        assert change.swap.expires_at == late + HOUR
        assert change.swap.output is None
        assert [intent.state for intent in change.intents] == [IntentState.DEAD]
        assert set(postings(change)) == {"payout_released", "quote_reversed", "credit_reversed"}
        assert change.deposits[0].is_booked is False

    def test_never_brings_the_deadline_forward(self) -> None:
        assert after(paid_for(), ("reverted", {})).expires_at == DEADLINE

    def test_takes_a_re_mined_deposit_as_the_same_and_pays_a_new_intent(self) -> None:
        first = paid_for()
        again = after(
            first, ("reverted", {}), ("seen", {"version": 4}), ("confirmed", {"version": 5})
        )

        assert again.status is Status.PAYOUT_PENDING
        assert again.output is not None
        assert first.output is not None
        assert again.output.id != first.output.id
        assert again.output.paid_id == first.output.paid_id
        assert len(again.deposits) == 1

    @pytest.mark.parametrize(
        "state", [IntentState.ASSIGNED, IntentState.BROADCAST, IntentState.MINED]
    )
    def test_does_not_cancel_a_signed_payout(self, state: IntentState) -> None:
        swap = with_output(out(paid_for()), state=state)

        change = changes_of_fact(swap, "reverted")

        assert change.swap is not None
        assert change.swap.status is Status.PAYOUT_PENDING
        assert (change.intents, change.ledger) == ((), ())
        assert change.deposits[0].state is DepositState.REVERTED

    def test_books_the_loss_when_that_payout_is_final(self) -> None:
        swap = after(out(paid_for()), ("reverted", {}))

        payout = replace(a_payout(), paid_id=PAID_ID)
        change = payouts.decide(swap, payout, at=NOON, treasury="0xtreasury")

        assert change.swap is not None
        assert change.swap.status is Status.COMPLETED
        assert postings(change) == {
            "payout_final": [PAYOUT, -PAYOUT],
            "lost": [REQUESTED, -REQUESTED],
        }

    def test_has_the_version_of_the_fact_that_took_it(self) -> None:
        [deposit] = changes_of_fact(paid_for(), "reverted").deposits

        assert deposit.version == 3

    def test_that_is_seen_again_has_no_amount_on_its_own_leg(self) -> None:
        expired = after(replace(a_swap(), status=Status.EXPIRED), ("confirmed", {}))

        [deposit] = changes_of_fact(expired, "seen", version=4).deposits

        assert (deposit.state, deposit.returned_base_units) == (DepositState.SEEN, 0)

    def test_books_no_recovery_without_a_loss(self) -> None:
        change = changes_of_fact(completed(paid_for()), "confirmed", version=5)

        assert change.ledger == ()

    def test_books_no_loss_for_what_was_mined_again_before(self) -> None:
        swap = after(
            out(paid_for()),
            ("reverted", {}),
            ("seen", {"version": 4}),
            ("confirmed", {"version": 5}),
        )

        assert changes_of_fact(swap, "confirmed", version=5) is NOTHING
        assert swap.credited_base_units == REQUESTED
        assert "lost" not in postings(
            payouts.decide(swap, replace(a_payout(), paid_id=PAID_ID), at=NOON, treasury="0x")
        )

    def test_books_the_loss_at_once_after_the_payout(self) -> None:
        change = changes_of_fact(completed(paid_for()), "reverted")

        assert change.swap is not None
        assert change.swap.status is Status.COMPLETED
        assert postings(change) == {"lost": [REQUESTED, -REQUESTED]}

    def test_gives_no_second_credit_for_what_is_mined_again_after_a_loss(self) -> None:
        lost = after(completed(paid_for()), ("reverted", {}), ("seen", {"version": 4}))

        change = changes_of_fact(lost, "confirmed", version=5)

        assert postings(change) == {"recovered": [REQUESTED, -REQUESTED]}
        assert change.swap is not None
        assert postings(changes_of_fact(change.swap, "reverted", version=6)) == {
            "lost": [REQUESTED, -REQUESTED]
        }

    def test_takes_back_what_was_claimable(self) -> None:
        failed = after(a_swap(), ("confirmed", {"available": 0}))

        change = changes_of_fact(failed, "reverted")

        assert change.swap is not None
        assert change.swap.status is Status.FAILED
        assert postings(change) == {
            "claim_reversed": [REQUESTED, -REQUESTED],
            "credit_reversed": [REQUESTED, -REQUESTED],
        }

    def test_takes_back_a_deposit_on_its_own_leg(self) -> None:
        expired = after(replace(a_swap(), status=Status.EXPIRED), ("confirmed", {}))

        change = changes_of_fact(expired, "reverted")

        assert change.deposits[0].returned_base_units == 0
        claim = change.ledger[0].postings[0].account
        assert claim.deposit_id == change.deposits[0].id
        assert change.swap is not None
        again = changes_of_fact(change.swap, "confirmed", version=4)
        assert set(postings(again)) == {"credited", "returned"}

    def test_treats_a_confirmed_deposit_that_is_seen_again_as_reorged(self) -> None:
        change = changes_of_fact(paid_for(), "seen", version=4)

        assert change.swap is not None
        assert change.swap.status is Status.DEPOSIT_PENDING
        assert change.swap.quote.locked_at == NOON
        assert set(postings(change)) == {"payout_released", "quote_reversed", "credit_reversed"}
        [deposit] = change.deposits
        assert (deposit.state, deposit.is_booked) == (DepositState.SEEN, False)
        assert deposit.version == 4
        assert changes_of_fact(change.swap, "reverted", version=3) is NOTHING
        assert after(change.swap, ("confirmed", {"version": 5})).status is Status.PAYOUT_PENDING

    def test_books_a_loss_for_one_that_is_only_seen_again_after_the_payout(self) -> None:
        change = changes_of_fact(completed(paid_for()), "seen", version=4)

        assert set(postings(change)) == {"lost"}
        assert change.swap is not None
        assert set(postings(changes_of_fact(change.swap, version=5))) == {"recovered"}

    def test_stores_a_reorg_received_before_its_deposit(self) -> None:
        swap = after(a_swap(), ("reverted", {}))

        assert changes_of_fact(swap, "seen") is NOTHING
        assert swap.status is Status.DEPOSIT_PENDING


class TestUnmatched:
    @pytest.mark.parametrize("state", ["seen", "confirmed"])
    def test_only_records_a_token_outside_the_catalogue(self, state: str) -> None:
        fact = a_deposit_fact(state, number=None, quarantine_reason="unknown_token")

        change = decide_unmatched(None, fact, is_ours=False)

        assert change.ledger == ()
        assert change.deposits[0].state is DepositState.QUARANTINED

    @pytest.mark.parametrize(
        ("more", "kind", "against", "state"),
        [
            ({}, "suspended", AccountKind.SUSPENSE, DepositState.CREDITED),
            (
                {"quarantine_reason": "suspect"},
                "suspended",
                AccountKind.SUSPENSE,
                DepositState.QUARANTINED,
            ),
            (
                {"kind": "token_transfer", "from_address": "0x" + "F1" * 20},
                "funded",
                AccountKind.EQUITY,
                DepositState.CREDITED,
            ),
        ],
    )
    def test_books_what_is_final(
        self, more: dict[str, Any], kind: str, against: AccountKind, state: DepositState
    ) -> None:
        seen = decide_unmatched(None, a_deposit_fact("seen", **more), is_ours=True)
        assert seen.ledger == ()

        change = decide_unmatched(seen.deposits[0], a_deposit_fact(**more), is_ours=True)

        [entry] = change.ledger
        assert entry.kind == kind
        assert entry.postings[1].account.kind is against
        assert (change.deposits[0].state, change.deposits[0].is_booked) == (state, True)

    @pytest.mark.parametrize("state", ["seen", "reverted"])
    def test_reverses_what_a_reorg_took(self, state: str) -> None:
        booked = decide_unmatched(None, a_deposit_fact(), is_ours=True).deposits[0]

        change = decide_unmatched(booked, a_deposit_fact(state, version=3), is_ours=True)

        assert [e.kind for e in change.ledger] == ["unsuspended"]
        assert change.deposits[0].is_booked is False

    def test_funding_is_never_a_deposit_with_any_memo(self) -> None:
        from_owner = a_deposit(kind="native_received", from_address="0x" + "f1" * 20)

        assert from_owner.method is Method.FUNDING
        assert from_owner.match_key is None

    def test_a_deposit_to_an_external_address_has_no_match_key(self) -> None:
        external = a_deposit(to_address="0x" + "77" * 20)

        assert external.state is DepositState.QUARANTINED
        assert external.match_key is None


class TestAttach:
    def test_takes_out_of_suspense_what_waited_for_its_swap(self) -> None:
        waiting = decide_unmatched(None, a_deposit_fact(), is_ours=True).deposits[0]

        change = attach(a_swap(), [waiting], at=NOON, available=PLENTY, paid_id=PAID_ID)

        assert change.swap is not None
        assert change.swap.status is Status.PAYOUT_PENDING
        assert [e.kind for e in change.ledger] == ["matched", "quote_executed", "payout_reserved"]

    def test_takes_the_sum_of_all_that_waited(self) -> None:
        halves = [
            decide_unmatched(
                None, a_deposit_fact(units=REQUESTED // 2, nth=nth), is_ours=True
            ).deposits[0]
            for nth in (0, 1)
        ]

        change = attach(a_swap(), halves, at=NOON, available=PLENTY, paid_id=PAID_ID)

        assert change.swap is not None
        assert (change.swap.status, change.swap.sequence) == (Status.PAYOUT_PENDING, 2)

    def test_shows_what_was_only_seen(self) -> None:
        change = attach(a_swap(), [a_deposit("seen")], at=NOON, available=PLENTY, paid_id=PAID_ID)

        assert change.swap is not None
        assert change.swap.quote.locked_at == NOON
        assert change.deposits[0].swap_id == change.swap.id


def test_every_pair_of_status_and_fact_keeps_to_the_table() -> None:
    closed = {Status.EXPIRED, Status.COMPLETED}
    for status in closed:
        swap = replace(a_swap(), status=status)
        for state in ("seen", "confirmed", "reverted"):
            change = changes_of_fact(swap, state)
            assert change.swap is not None
            assert change.swap.status is status
