"""A signature that deposits: relayed once, shown with its state, and ended when it is idle."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    MINUTE,
    NOON,
    PLENTY,
    REQUESTED,
    USDC,
    USER,
    a_deposit_fact,
    a_swap,
    with_signed_attempts,
)
from swap_domain.authorization_status import AuthorizationStatus, AuthorizationTrigger
from swap_domain.gasless import MINED_WITHIN
from swap_domain.lifecycle import Status
from swap_settler.gasless.decide.relaying import (
    REVERTS_MAX,
    confirm_relay,
    end_relay,
    mark_relay_broadcast,
    submit,
    with_authorization_progress,
)
from swap_settler.model.authorization import Authorization, SubmittedSignature
from swap_settler.model.chain_facts import FactState
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.swap import Intent, IntentKind, IntentState, Swap
from swap_settler.settling.decide import deposits

FIRST, SECOND = "0x" + "11" * 32, "0x" + "22" * 32
VALID_BEFORE = NOON + 30 * MINUTE
LAST_MOMENT = VALID_BEFORE - MINED_WITHIN
PAYMASTER = "0x" + "9a" * 20
SUBMITTED = SubmittedSignature(
    submission=1,
    standard="eip3009",
    signer=USER,
    base_units=REQUESTED,
    nonce="0x01",
    valid_after=3,
    valid_before=int(VALID_BEFORE.timestamp()),
    paymaster=PAYMASTER,
    call_data=b"\x01",
)
A_FUNDED_SWAP = a_swap().with_deposit(a_deposit_fact("seen").deposit)


def authorization(swap: Swap | None) -> Authorization:
    assert swap is not None
    assert swap.authorization is not None
    return swap.authorization


def relay(swap: Swap | None) -> Intent:
    assert swap is not None
    assert swap.relay is not None
    return swap.relay


def held() -> Swap:
    swap = submit(a_swap(), SUBMITTED, at=NOON).swap
    assert swap is not None
    return swap


def out(*hashes: str) -> Swap:
    """Return a swap with a deposit that was sent to the nodes."""
    swap = held()
    assigned = with_signed_attempts(relay(swap), *(hashes or (FIRST,)), state=IntentState.ASSIGNED)
    done = mark_relay_broadcast(swap.with_intent(assigned), assigned, at=NOON + MINUTE).swap
    assert done is not None
    return done


class TestAccepted:
    def test_is_one_payment_into_the_swap_that_is_signed_for_until_its_last_moment(self) -> None:
        swap = a_swap()

        change = submit(swap, SUBMITTED, at=NOON + MINUTE)

        at = NOON + MINUTE
        intent = Intent(
            id=uuid5(swap.id, "gasless/1"),
            paid_id=None,
            swap_id=swap.id,
            deposit_id=None,
            kind=IntentKind.GASLESS,
            network=ETHEREUM,
            token=USDC[ETHEREUM],
            to_address=PAYMASTER,
            base_units=REQUESTED,
            charged_base_units=0,
            usd_micros=REQUESTED,
            state=IntentState.RESERVED,
            due_at=at,
            created_at=at,
            payer=USER,
            call_data=b"\x01",
            not_after=LAST_MOMENT,
        )
        authorization_row = Authorization(
            submission=1,
            intent_id=intent.id,
            standard="eip3009",
            signer=USER,
            base_units=REQUESTED,
            nonce="0x01",
            valid_after=3,
            valid_before=SUBMITTED.valid_before,
            status=AuthorizationStatus.INITIATED,
            detail=None,
            transaction_hash=None,
            submitted_at=at,
        )
        assert change == Changes(
            swap=replace(swap.on(at), authorization=authorization_row).with_intent(intent),
            previous_status=Status.DEPOSIT_PENDING,
            cause=ChangeCause.AUTHORIZATION_SUBMITTED,
            intents=(intent,),
        )

    @pytest.mark.parametrize(
        ("swap", "submitted", "at", "reverts", "end"),
        [
            pytest.param(
                a_swap(),
                SUBMITTED,
                LAST_MOMENT,
                0,
                (AuthorizationStatus.EXPIRED, "the signature came too late"),
                id="too late to be mined",
            ),
            pytest.param(
                A_FUNDED_SWAP,
                SUBMITTED,
                NOON,
                0,
                (AuthorizationStatus.REJECTED, "the swap is funded already, or over"),
                id="a funded swap",
            ),
            pytest.param(
                replace(a_swap(), status=Status.EXPIRED),
                SUBMITTED,
                NOON,
                0,
                (AuthorizationStatus.REJECTED, "the swap is funded already, or over"),
                id="an expired swap",
            ),
            pytest.param(
                a_swap(),
                replace(SUBMITTED, base_units=REQUESTED + 1),
                NOON,
                0,
                (AuthorizationStatus.REJECTED, "the swap asks for another amount"),
                id="another amount",
            ),
            pytest.param(
                a_swap(),
                SUBMITTED,
                NOON,
                REVERTS_MAX,
                (
                    AuthorizationStatus.REJECTED,
                    "3 deposits of this signer failed on chain within a day",
                ),
                id="a signer whose deposits fail",
            ),
        ],
    )
    def test_is_not_where_it_could_only_waste_gas_or_pay_twice(
        self,
        swap: Swap,
        submitted: SubmittedSignature,
        at: datetime,
        reverts: int,
        end: tuple[AuthorizationStatus, str],
    ) -> None:
        change = submit(swap, submitted, at=at, reverts=reverts)

        assert (change.intents, relayless(change.swap)) == ((), True)
        known = authorization(change.swap)
        assert (known.status, known.detail, known.intent_id) == (*end, None)
        assert known.submitted_at == at
        assert change.previous_status is swap.status
        assert change.cause is ChangeCause.AUTHORIZATION_REFUSED
        assert change.swap is not None
        assert change.swap.sequence == swap.sequence + 1

    @pytest.mark.parametrize(
        ("at", "reverts"), [(LAST_MOMENT - timedelta(seconds=1), 0), (NOON, REVERTS_MAX - 1)]
    )
    def test_is_up_to_the_last_moment_and_the_last_failure(
        self, at: datetime, reverts: int
    ) -> None:
        assert submit(a_swap(), SUBMITTED, at=at, reverts=reverts).intents

    def test_is_once_and_the_newest_of_them(self) -> None:
        refused = submit(a_swap(), replace(SUBMITTED, submission=2, base_units=1), at=NOON).swap
        assert refused is not None

        assert submit(refused, replace(SUBMITTED, submission=2), at=NOON) is NOTHING
        assert submit(refused, replace(SUBMITTED, submission=1), at=NOON) is NOTHING
        assert submit(refused, replace(SUBMITTED, submission=3), at=NOON).intents
        assert submit(held(), replace(SUBMITTED, submission=2), at=NOON) is NOTHING


def relayless(swap: Swap | None) -> bool:
    return swap is not None and swap.relay is None


class TestPublished:
    def test_shows_the_hash_that_the_nodes_have(self) -> None:
        swap = held()
        assigned = with_signed_attempts(relay(swap), SECOND, FIRST, state=IntentState.ASSIGNED)
        with_slot = swap.with_intent(assigned)

        change = mark_relay_broadcast(with_slot, assigned, at=NOON + MINUTE)

        sent = replace(assigned, state=IntentState.BROADCAST)
        known = replace(
            authorization(swap), status=AuthorizationStatus.PUBLISHED, transaction_hash=FIRST
        )
        assert change == Changes(
            swap=replace(with_slot.on(NOON + MINUTE).with_intent(sent), authorization=known),
            previous_status=Status.DEPOSIT_PENDING,
            cause=ChangeCause.AUTHORIZATION_SENT,
            intents=(sent,),
        )

    @pytest.mark.parametrize(
        ("at", "status"),
        [
            (VALID_BEFORE - timedelta(seconds=1), AuthorizationStatus.PUBLISHED),
            (VALID_BEFORE, AuthorizationStatus.INITIATED),
        ],
    )
    def test_is_not_shown_any_more_once_the_signature_has_lapsed(
        self, at: datetime, status: AuthorizationStatus
    ) -> None:
        swap = held()
        assigned = with_signed_attempts(relay(swap), state=IntentState.ASSIGNED)

        assert authorization(mark_relay_broadcast(swap, assigned, at=at).swap).status is status

    def test_of_an_older_signature_does_not_change_the_newest(self) -> None:
        swap = held()
        newest = replace(authorization(swap), intent_id=UUID(int=1))
        assigned = with_signed_attempts(relay(swap), state=IntentState.ASSIGNED)

        change = mark_relay_broadcast(replace(swap, authorization=newest), assigned, at=NOON)

        assert authorization(change.swap) == newest
        assert relay(change.swap).state is IntentState.BROADCAST


class TestItsDeposit:
    def fact(self, state: str = "confirmed", **more: Any) -> Swap:
        fact = a_deposit_fact(state, transaction_hash=FIRST, **more)
        swap = out(FIRST, SECOND)
        return with_authorization_progress(swap, fact.deposit, fact.state)

    def test_is_mined_in_its_block_and_completed_when_it_is_final(self) -> None:
        seen, final = self.fact("seen"), self.fact("confirmed")

        intent, deposit = relay(seen), a_deposit_fact("seen").deposit
        assert (intent.state, intent.transaction_hash) == (IntentState.MINED, FIRST)
        assert (intent.block_number, intent.block_hash, intent.block_time) == (
            deposit.block_number,
            deposit.block_hash,
            deposit.block_time,
        )
        assert authorization(seen).status is AuthorizationStatus.PUBLISHED
        assert authorization(final).status is AuthorizationStatus.COMPLETED
        assert authorization(final).transaction_hash == FIRST

    def test_seen_before_the_lane_marked_it_sent_counts_as_published(self) -> None:
        swap = held()
        assigned = swap.with_intent(
            with_signed_attempts(relay(swap), SECOND, FIRST, state=IntentState.ASSIGNED)
        )
        fact = a_deposit_fact("confirmed", transaction_hash=SECOND)

        updated_swap = with_authorization_progress(assigned, fact.deposit, fact.state)

        assert authorization(updated_swap).status is AuthorizationStatus.COMPLETED
        assert authorization(updated_swap).transaction_hash == SECOND

    def test_that_a_reorg_took_is_out_again(self) -> None:
        final = self.fact("confirmed")
        fact = a_deposit_fact("reverted", transaction_hash=FIRST)

        after_reorg = with_authorization_progress(final, fact.deposit, fact.state)

        before = relay(final)
        assert relay(after_reorg) == replace(
            before,
            state=IntentState.BROADCAST,
            transaction_hash=None,
            block_number=None,
            block_hash=None,
            block_time=None,
        )
        expected = authorization(final).with_trigger(AuthorizationTrigger.DEPOSIT_REVERTED)
        assert authorization(after_reorg) == expected

    def test_whose_transaction_is_final_stays_so(self) -> None:
        swap = out(FIRST)
        done = confirm_relay(swap, relay(swap).id, at=NOON + HOUR).intents[0]
        swap = swap.with_intent(done)
        seen, gone = a_deposit_fact("seen", transaction_hash=FIRST), a_deposit_fact("reverted")

        mined = with_authorization_progress(swap, seen.deposit, FactState.SEEN)
        after_reorg = with_authorization_progress(
            swap, replace(gone.deposit, transaction_hash=FIRST), FactState.REVERTED
        )

        assert relay(mined).state is IntentState.CONFIRMED
        assert relay(mined).block_number == seen.deposit.block_number
        assert relay(after_reorg) == done
        assert authorization(after_reorg).status is AuthorizationStatus.PUBLISHED

    def test_by_another_transaction_has_no_effect_on_it(self) -> None:
        swap = out(FIRST)
        fact = a_deposit_fact("confirmed", transaction_hash=SECOND)

        assert with_authorization_progress(swap, fact.deposit, fact.state) is swap
        unknown = replace(swap, authorization=None)
        mine = replace(fact.deposit, transaction_hash=FIRST)
        assert with_authorization_progress(unknown, mine, fact.state) is unknown


class TestFinished:
    def test_is_final_with_its_time(self) -> None:
        swap = out()

        change = confirm_relay(swap, relay(swap).id, at=NOON + HOUR)

        final = replace(relay(swap), state=IntentState.CONFIRMED, confirmed_at=NOON + HOUR)
        assert change == Changes(intents=(final,))
        assert confirm_relay(swap.with_intent(final), final.id, at=NOON) is NOTHING
        assert confirm_relay(swap, swap.id, at=NOON) is NOTHING


class TestEnded:
    END = AuthorizationTrigger.SIGNATURE_REFUSED

    def test_takes_the_payment_out_with_the_reason(self) -> None:
        swap = held()

        change = end_relay(swap, relay(swap).id, self.END, at=NOON + MINUTE, because="so")

        dead = relay(swap).as_dead("so")
        known = replace(authorization(swap), status=AuthorizationStatus.REJECTED, detail="so")
        assert change == Changes(
            swap=replace(swap.on(NOON + MINUTE).with_intent(dead), authorization=known),
            previous_status=Status.DEPOSIT_PENDING,
            cause=ChangeCause.AUTHORIZATION_ENDED,
            intents=(dead,),
        )

    def test_leaves_one_that_is_final(self) -> None:
        swap = out()
        final = replace(relay(swap), state=IntentState.CONFIRMED)

        changes = end_relay(swap.with_intent(final), final.id, self.END, at=NOON, because="so")

        assert changes is NOTHING
        assert end_relay(swap, swap.id, self.END, at=NOON, because="so") is NOTHING

    def test_leaves_what_was_completed_and_a_newer_signature(self) -> None:
        swap = out(FIRST)
        fact = a_deposit_fact("confirmed", transaction_hash=FIRST)
        completed = with_authorization_progress(swap, fact.deposit, fact.state)
        newer = replace(swap, authorization=replace(authorization(swap), intent_id=UUID(int=1)))

        for one in (completed, newer):
            change = end_relay(one, relay(one).id, self.END, at=NOON, because="so")

            assert authorization(change.swap) == authorization(one)
            assert relayless(change.swap)


class TestASignatureOfASwapThatIsFundedOtherwise:
    def settled(self, swap: Swap, *, units: int = REQUESTED) -> Changes:
        fact = a_deposit_fact("seen", units=units, transaction_hash="0x" + "77" * 32)
        return deposits.decide(swap, fact, at=NOON, available=PLENTY, paid_id=1)

    def test_is_not_relayed_any_more(self) -> None:
        change = self.settled(held())

        because = "the swap was funded in another way"
        assert change.intents == (relay(held()).as_dead(because),)
        known = authorization(change.swap)
        assert (known.status, known.detail) == (AuthorizationStatus.REJECTED, because)
        assert relayless(change.swap)

    def test_is_relayed_after_a_part_was_deposited(self) -> None:
        change = self.settled(held(), units=REQUESTED - 1)

        assert change.intents == ()
        assert authorization(change.swap).is_in_progress

    def test_is_left_to_its_own_end_once_it_was_signed(self) -> None:
        change = self.settled(out())

        assert change.intents == ()
        assert authorization(change.swap).is_in_progress

    def test_ends_too_when_the_newest_is_another_one(self) -> None:
        other = replace(authorization(held()), intent_id=UUID(int=1))

        change = self.settled(replace(held(), authorization=other))

        assert [one.state for one in change.intents] == [IntentState.DEAD]
        assert authorization(change.swap) == other


def test_the_last_moment_is_before_the_signature_lapses() -> None:
    assert SUBMITTED.not_after == datetime.fromtimestamp(SUBMITTED.valid_before, UTC) - MINED_WITHIN
