"""Requotes of other amounts: the least that they may pay, and cases without a quote."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    LATER,
    NOON,
    PAYOUT,
    PLENTY,
    REFUEL,
    REFUEL_CHARGED,
    REQUESTED,
    USDC,
    USER,
    a_deposit,
    a_deposit_fact,
    a_quote,
    a_swap,
    swap_of,
)
from swap_domain.lifecycle import Status
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.messages.message_mapping import to_quote_terms
from swap_settler.model.settled_step import SettledStep
from swap_settler.model.swap import (
    Deposit,
    DepositState,
    FailReason,
    Intent,
    IntentKind,
    IntentState,
    Method,
    QuoteTerms,
    Swap,
)
from swap_settler.settling.decide import deposits
from swap_settler.settling.decide.attaching import NotAttachable, Proof, check
from swap_settler.settling.decide.expiry import decide as expire
from swap_settler.settling.decide.main_leg import (
    REQUOTE_EXTENSION,
    fill,
    lock_quote,
    unlock_quote,
    with_time,
)
from swap_settler.settling.decide.requests import begin, set_refund_address
from swap_settler.settling.decide.requotes import RequoteRefusal, accept, floor_of, refuse

AT = NOON + HOUR
RESOURCES: dict[str, Any] = {"available": PLENTY, "paid_id": 7, "refuel_available": REFUEL}
ATTACHED = {**RESOURCES, "cause": ChangeCause.DEPOSIT_ATTACHED}


def credited(units: int = REQUESTED, *, refuel: bool = False) -> Swap:
    """Return a swap with a deposit that arrived after its quote had expired."""
    fact = a_deposit_fact(units=units, block_time=LATER, received_at=LATER)
    swap = a_swap(refund_address=USER, refuel=refuel)
    return swap_of(deposits.decide(swap, fact, at=LATER, available=PLENTY, paid_id=7))


def an_offer(units: int, payout: int, *, refuel: bool = False) -> QuoteTerms:
    return to_quote_terms(a_quote(requested=units, payout=payout, refuel=refuel), expires_at=AT)


class TestTheFloor:
    def quoted(self, *, locked: bool = False, **quote: int) -> Swap:
        swap = a_swap()
        terms = {"requested_base_units": 100, "min_payout_base_units": 90, "payout_base_units": 95}
        changed = replace(swap.quote, **(terms | quote), locked_at=NOON if locked else None)
        return replace(swap, quote=changed)

    @pytest.mark.parametrize(("units", "least"), [(100, 90), (50, 45), (51, 46), (200, 180)])
    def test_is_the_agreed_share_rounded_up(self, units: int, least: int) -> None:
        assert floor_of(self.quoted(), units) == least

    @pytest.mark.parametrize(("units", "least"), [(100, 95), (200, 180), (106, 96)])
    def test_of_a_quote_that_was_met_is_at_least_its_payout(self, units: int, least: int) -> None:
        assert floor_of(self.quoted(locked=True), units) == least

    def test_without_a_requested_amount_is_zero(self) -> None:
        assert floor_of(self.quoted(requested_base_units=0), 100) == 0


class TestAnOffer:
    def test_for_what_is_there_is_executed_at_once(self) -> None:
        swap = credited(REQUESTED // 2)
        offer = an_offer(REQUESTED // 2, PAYOUT // 2)

        change = accept(swap, offer, at=AT, **RESOURCES)

        updated_swap = swap_of(change)
        quote = replace(offer, revision=1, last_requoted_at=AT, locked_at=AT)
        assert updated_swap.quote == quote
        assert (updated_swap.status, updated_swap.sequence) == (
            Status.PAYOUT_PENDING,
            swap.sequence + 1,
        )
        assert updated_swap.changed_at == AT
        assert updated_swap.output is not None
        assert updated_swap.output.base_units == PAYOUT // 2
        assert (change.previous_status, change.is_requote_due) == (Status.DEPOSIT_PENDING, False)

    @pytest.mark.parametrize("units", [REQUESTED - 1, REQUESTED + 1])
    def test_for_another_amount_is_ignored(self, units: int) -> None:
        assert accept(credited(), an_offer(units, PAYOUT), at=AT, **RESOURCES) is NOTHING

    def test_for_an_expired_swap_is_ignored(self) -> None:
        over = replace(credited(), status=Status.EXPIRED)

        assert accept(over, an_offer(REQUESTED, PAYOUT), at=AT, **RESOURCES) is NOTHING

    @pytest.mark.parametrize(
        ("payout", "available", "reason"),
        [
            (PAYOUT * 99 // 100, PAYOUT, None),
            (PAYOUT * 99 // 100 - 1, PAYOUT, FailReason.DEGRADED_QUOTE),
            (PAYOUT, PAYOUT, None),
            (PAYOUT, PAYOUT - 1, FailReason.INSUFFICIENT_LIQUIDITY),
        ],
    )
    def test_is_declined_below_the_floor_and_beyond_the_inventory(
        self, payout: int, available: int, reason: FailReason | None
    ) -> None:
        offer = an_offer(REQUESTED, payout)

        updated_swap = swap_of(accept(credited(), offer, at=AT, available=available, paid_id=7))

        assert updated_swap.fail_reason is reason
        assert updated_swap.status is (Status.REFUND_PENDING if reason else Status.PAYOUT_PENDING)

    def test_that_is_declined_leaves_a_quote_unchanged(self) -> None:
        on_time = a_deposit_fact(units=REQUESTED + 10)
        swap = swap_of(deposits.decide(a_swap(), on_time, at=NOON, available=PLENTY, paid_id=7))
        assert swap.quote.locked_at is not None

        change = accept(swap, an_offer(REQUESTED + 10, 1), at=AT, **RESOURCES)

        updated_swap = swap_of(change)
        assert updated_swap.output is not None
        assert updated_swap.output.base_units == PAYOUT
        assert updated_swap.deposits[on_time.deposit.id].returned_base_units == 10


class TestNoOffer:
    @pytest.mark.parametrize(
        ("units", "why", "reason"),
        [
            (REQUESTED, RequoteRefusal.BELOW_MINIMUM, FailReason.RECEIVED_LESS),
            (REQUESTED, RequoteRefusal.NO_ANSWER, FailReason.ROUTE_UNAVAILABLE),
            (REQUESTED, RequoteRefusal.NO_LIQUIDITY, FailReason.INSUFFICIENT_LIQUIDITY),
            (REQUESTED, RequoteRefusal.ABOVE_MAXIMUM, FailReason.RECEIVED_MORE),
            (REQUESTED - 1, RequoteRefusal.BELOW_MINIMUM, None),
            (REQUESTED - 1, RequoteRefusal.NO_ANSWER, None),
            (REQUESTED - 1, RequoteRefusal.NO_LIQUIDITY, FailReason.INSUFFICIENT_LIQUIDITY),
            (REQUESTED - 1, RequoteRefusal.ABOVE_MAXIMUM, FailReason.RECEIVED_MORE),
        ],
    )
    def test_makes_a_refund_due_unless_the_rest_may_arrive(
        self, units: int, why: RequoteRefusal, reason: FailReason | None
    ) -> None:
        swap = credited(units)

        change = refuse(swap, why, at=AT, **RESOURCES)

        if reason is None:
            assert change is NOTHING
            return
        updated_swap = swap_of(change)
        assert (updated_swap.status, updated_swap.fail_reason) == (Status.REFUND_PENDING, reason)
        assert (updated_swap.sequence, updated_swap.changed_at) == (swap.sequence + 1, AT)
        assert change.refunds_due == (None,)

    @pytest.mark.parametrize(
        ("why", "waits"),
        [
            (RequoteRefusal.BELOW_MINIMUM, True),
            (RequoteRefusal.NO_ANSWER, False),
            (RequoteRefusal.NO_LIQUIDITY, False),
        ],
    )
    def test_of_a_swap_without_a_sum_waits_only_for_more(
        self, why: RequoteRefusal, *, waits: bool
    ) -> None:
        swap = credited(5)
        is_open = replace(swap, quote=replace(swap.quote, requested_base_units=0))

        assert (refuse(is_open, why, at=AT, **RESOURCES) is NOTHING) is waits


class TestAQuoteWithoutItsRefuel:
    QUOTE = a_swap(refuel=True).quote

    def test_asks_for_less_and_shows_no_refuel(self) -> None:
        quote = replace(self.QUOTE, spent_on_refuel=3)

        without = quote.without_refuel()

        left = REQUESTED - REFUEL_CHARGED
        document = json.loads(quote.document) | {
            "refuel_base_units": None,
            "refuel_in_source_base_units": None,
            "requested_base_units": str(left),
        }
        assert json.loads(without.document) == document
        assert without == replace(
            quote,
            document=without.document,
            requested_base_units=left,
            refuel=None,
            spent_on_refuel=0,
        )
        assert without.swapped_base_units == left

    def test_that_is_claimable_keeps_what_was_spent(self) -> None:
        claimable = self.QUOTE.with_refuel_claimable()

        document = json.loads(self.QUOTE.document) | {"refuel_base_units": None}
        assert json.loads(claimable.document) == document
        assert claimable == replace(
            self.QUOTE,
            document=claimable.document,
            refuel=None,
            spent_on_refuel=REFUEL_CHARGED,
        )
        assert claimable.swapped_base_units == REQUESTED - REFUEL_CHARGED


class TestMoreThanWasAskedFor:
    @staticmethod
    def filled(*units: int) -> SettledStep:
        """Fund a swap with deposits that arrived one after the other."""
        swap = a_swap(refund_address=USER)
        for nth, base_units in enumerate(units):
            deposit = a_deposit("confirmed", units=base_units, nth=nth)
            came = NOON + nth * timedelta(minutes=1)
            own = replace(deposit, state=DepositState.CREDITED, is_booked=True, received_at=came)
            swap = swap.with_deposit(own)
        return fill(swap, NOON, available=PLENTY, paid_id=7)

    @pytest.mark.parametrize(
        ("units", "returned"),
        [
            ((REQUESTED, 200, 100), (0, 200, 100)),
            ((REQUESTED - 50, 200, 100), (0, 150, 100)),
            ((REQUESTED - 250, 200, 100), (0, 0, 50)),
            ((REQUESTED + 70,), (70,)),
            ((REQUESTED,), (0,)),
        ],
    )
    def test_is_returned_from_the_last_deposits(
        self, units: tuple[int, ...], returned: tuple[int, ...]
    ) -> None:
        done = self.filled(*units)

        assert [d.returned_base_units for d in done.swap.deposits.values()] == list(returned)
        own = {d.id for d in done.swap.deposits.values() if d.returned_base_units}
        assert len(done.refunds_due) == len(own)
        assert set(done.refunds_due) == own

    def test_counts_what_was_attached_from_then(self) -> None:
        swap = self.filled(REQUESTED - 100, 100).swap
        first, second = swap.deposits.values()
        swap = replace(swap, status=Status.DEPOSIT_PENDING, intents={})
        attached = swap.with_deposit(replace(first, attached_at=LATER, base_units=REQUESTED))

        done = fill(attached, NOON, available=PLENTY, paid_id=7)

        assert done.refunds_due == (first.id,)
        assert done.swap.deposits[second.id].returned_base_units == 0


class TestTheLock:
    def test_needs_the_whole_sum_on_time(self) -> None:
        for units, is_locked in [(REQUESTED, True), (REQUESTED - 1, False)]:
            swap = a_swap().with_deposit(a_deposit("seen", units=units))

            locked = lock_quote(swap, AT)

            assert (locked.quote.locked_at == AT) is is_locked

    def test_stays_as_it_is(self) -> None:
        swap = a_swap().with_deposit(a_deposit("seen"))
        locked = lock_quote(swap, NOON)

        assert lock_quote(locked, AT) is locked
        assert unlock_quote(locked) is locked
        free = replace(swap, quote=replace(swap.quote, requested_base_units=0))
        assert lock_quote(free, AT) is free

    def test_is_free_again_without_its_money(self) -> None:
        locked = lock_quote(a_swap().with_deposit(a_deposit("seen")), NOON)
        gone = locked.with_deposit(replace(a_deposit("seen"), state=DepositState.REVERTED))

        assert unlock_quote(gone).quote == replace(gone.quote, locked_at=None)

    def test_leaves_an_hour_to_fund_it_again(self) -> None:
        swap = a_swap()

        late = with_time(swap, swap.expires_at)

        assert late.expires_at == swap.expires_at + REQUOTE_EXTENSION
        assert with_time(swap, NOON).expires_at == swap.expires_at


class TestTheDeadline:
    TOO_LATE = a_swap().expires_at + HOUR

    def test_closes_what_was_not_funded(self) -> None:
        swap = a_swap()

        change = expire(swap, at=self.TOO_LATE)

        expired = replace(swap.on(self.TOO_LATE), status=Status.EXPIRED, closed_at=self.TOO_LATE)
        assert change == Changes(
            swap=expired,
            previous_status=Status.DEPOSIT_PENDING,
            cause=ChangeCause.DEADLINE_PASSED,
        )

    def test_sends_a_part_back(self) -> None:
        change = expire(credited(REQUESTED - 1), at=self.TOO_LATE)

        updated_swap = swap_of(change)
        assert (updated_swap.status, updated_swap.fail_reason) == (
            Status.REFUND_PENDING,
            FailReason.RECEIVED_LESS,
        )
        assert (updated_swap.changed_at, change.refunds_due) == (self.TOO_LATE, (None,))

    def test_leaves_a_whole_sum_to_the_quoter_and_a_seen_one_to_its_blocks(self) -> None:
        assert expire(credited(), at=self.TOO_LATE) is NOTHING
        seen = credited(REQUESTED - 1).with_deposit(a_deposit("seen", nth=1, units=1))
        assert expire(seen, at=self.TOO_LATE) is NOTHING

    def test_ends_a_swap_without_a_sum(self) -> None:
        swap = credited(5)
        is_open = replace(swap, quote=replace(swap.quote, requested_base_units=0))

        assert swap_of(expire(is_open, at=self.TOO_LATE)).status is Status.REFUND_PENDING


class TestARefundAddress:
    def failed(self, **more: Any) -> Swap:
        swap = credited(5)
        nowhere = replace(swap.terms, refund_address=None)
        return replace(
            swap,
            terms=nowhere,
            status=Status.FAILED,
            fail_reason=FailReason.RECEIVED_LESS,
            closed_at=NOON,
            **more,
        )

    def test_sends_back_what_was_claimable(self) -> None:
        swap = self.failed()

        change = set_refund_address(swap, USER, at=AT)

        updated_swap = swap_of(change)
        assert updated_swap.terms == replace(swap.terms, refund_address=USER)
        assert (updated_swap.status, updated_swap.closed_at) == (Status.REFUND_PENDING, None)
        assert (updated_swap.sequence, updated_swap.changed_at) == (swap.sequence + 1, AT)
        assert change == Changes(
            swap=updated_swap,
            previous_status=Status.FAILED,
            cause=ChangeCause.REFUND_ADDRESS_SET,
            ledger=(ledger.claimable_to_liability(updated_swap, 5),),
            refunds_due=(None,),
        )

    def test_makes_no_refund_due_after_a_rejection_by_policy(self) -> None:
        swap = self.failed()
        rejected = replace(swap, fail_reason=FailReason.REJECTED_BY_POLICY)

        change = set_refund_address(rejected, USER, at=AT)

        assert swap_of(change).status is Status.FAILED
        assert (change.ledger, change.refunds_due) == ((), ())
        assert change.previous_status is Status.FAILED

    def test_leaves_what_an_operator_is_paying(self) -> None:
        swap = self.failed()
        claim = Intent(
            id=swap.id,
            paid_id=1,
            swap_id=swap.id,
            deposit_id=None,
            kind=IntentKind.CLAIM,
            network=ETHEREUM,
            token=USDC[ETHEREUM],
            to_address=USER,
            base_units=5,
            charged_base_units=5,
            usd_micros=5,
            state=IntentState.RESERVED,
            due_at=NOON,
            created_at=NOON,
        )

        change = set_refund_address(swap.with_intent(claim), USER, at=AT)

        assert swap_of(change).status is Status.FAILED
        other_asset = swap.with_intent(replace(claim, token="0x"))
        assert swap_of(set_refund_address(other_asset, USER, at=AT)).status is (
            Status.REFUND_PENDING
        )

    def test_makes_every_own_leg_due_that_holds_money(self) -> None:
        swap = self.failed()
        own = a_deposit("confirmed", nth=1, units=9)
        held = replace(own, returned_base_units=9, is_booked=True, state=DepositState.CREDITED)
        gone = replace(held, id=swap.id, is_booked=False)

        change = set_refund_address(swap.with_deposit(held).with_deposit(gone), USER, at=AT)

        assert change.refunds_due == (None, held.id)

    def test_that_was_given_stays(self) -> None:
        assert set_refund_address(credited(), USER, at=AT) is NOTHING

    def test_of_a_new_swap_makes_no_refund_due(self) -> None:
        assert begin(a_swap()) == Changes(swap=a_swap(), cause=ChangeCause.SWAP_REQUESTED)


def refusal_of(proof: Proof, deposit: Deposit) -> str | None:
    """Return why an unpaid deposit cannot be attached to the swap."""
    try:
        check(proof, deposit, a_swap(), is_paid=False)
    except NotAttachable as refused:
        return str(refused)
    return None


class TestAttaching:
    """A transfer that names no swap: its sender may attach it."""

    TRANSFER = replace(
        a_deposit("seen"), method=Method.DIRECT, sequence_number=None, from_address=USER
    )
    PROOF = Proof(TRANSFER.id, a_swap().id, NOON, by=USER, because="signed", signer=USER)
    ORDER = replace(PROOF, by="ann", because="asked", signer=None)

    @pytest.mark.parametrize(
        ("proof", "changes"),
        [
            (PROOF, {}),
            (replace(PROOF, signer=USER.lower()), {}),
            (PROOF, {"from_address": USER.lower()}),
            (PROOF, {"state": DepositState.CREDITED}),
            (ORDER, {"from_address": None}),
            (ORDER, {"method": Method.DEPOSITORY}),
        ],
    )
    def test_is_for_its_sender_or_an_operator(self, proof: Proof, changes: dict[str, Any]) -> None:
        assert refusal_of(proof, replace(self.TRANSFER, **changes)) is None

    @pytest.mark.parametrize(
        ("proof", "changes", "words"),
        [
            (PROOF, {"state": DepositState.REVERTED}, "it is reverted"),
            (PROOF, {"state": DepositState.QUARANTINED}, "it is quarantined"),
            (PROOF, {"quarantine_reason": "token"}, "it is seen"),
            (
                PROOF,
                {"token": "0x"},
                "the swap is paid with another token, or on another network",
            ),
            (
                PROOF,
                {"network": "ELSEWHERE"},
                "the swap is paid with another token, or on another network",
            ),
            (
                ORDER,
                {"method": Method.DEPOSIT_ADDRESS},
                "it came as deposit_address, not as a transfer",
            ),
            (ORDER, {"method": Method.FUNDING}, "it came as funding, not as a transfer"),
            (
                PROOF,
                {"method": Method.DEPOSITORY},
                "its owner is not known from the chain: an operator attaches it",
            ),
            (PROOF, {"from_address": None}, "another address sent it"),
            (PROOF, {"from_address": "0x" + "44" * 20}, "another address sent it"),
        ],
    )
    def test_is_refused_with_its_reason(
        self, proof: Proof, changes: dict[str, Any], words: str
    ) -> None:
        assert refusal_of(proof, replace(self.TRANSFER, **changes)) == words

    def test_is_refused_once_it_is_paid_back(self) -> None:
        with pytest.raises(NotAttachable, match=r"^it is paid back, or on its way$"):
            check(self.PROOF, self.TRANSFER, a_swap(), is_paid=True)

    def test_counts_from_when_it_was_proved(self) -> None:
        waiting = replace(self.TRANSFER, state=DepositState.CREDITED, is_booked=True)

        change = deposits.take(a_swap(), waiting, since=LATER, at=AT, **ATTACHED)

        updated_swap = swap_of(change)
        [mine] = change.deposits
        assert (mine.swap_id, mine.attached_at) == (updated_swap.id, LATER)
        # Its block was on time for the quote, but its proof was not.
        assert updated_swap.quote.locked_at is None
        assert change.is_requote_due
        assert change.ledger == (ledger.deposit_matched(updated_swap, mine),)
        seen = swap_of(
            deposits.take(
                a_swap(),
                self.TRANSFER,
                since=NOON,
                at=AT,
                cause=ChangeCause.DEPOSIT_ATTACHED,
                **RESOURCES,
            )
        )
        assert seen.quote.locked_at == AT
        assert seen.changed_at == AT
