"""The effect of a deposit on the signature that made it, decided in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.settler.tests.factories import (
    LATER,
    MINUTE,
    NOON,
    USER,
    a_deposit_fact,
    a_swap,
    with_signed_attempts,
)
from swap_domain.authorization_status import AuthorizationStatus, AuthorizationTrigger
from swap_settler.gasless.decide.relaying import (
    end_relay,
    mark_relay_broadcast,
    submit,
    with_authorization_progress,
)
from swap_settler.model.authorization import SubmittedSignature
from swap_settler.model.chain_facts import FactState
from swap_settler.model.swap import IntentState, Swap
from swap_settler.settling.decide.expiry import decide

FIRST, SECOND = "0x" + "11" * 32, "0x" + "22" * 32


def a_submitted_signature(
    swap: Swap, *, submission: int = 1, minutes: int = 30
) -> SubmittedSignature:
    return SubmittedSignature(
        submission=submission,
        standard="eip3009",
        signer=USER,
        base_units=swap.quote.requested_base_units,
        nonce="0x01",
        valid_after=0,
        valid_before=int((NOON + minutes * MINUTE).timestamp()),
        paymaster="0x" + "9a" * 20,
        call_data=b"\x01",
    )


def held() -> Swap:
    """Return a swap whose signature waits for the lane."""
    swap = a_swap()
    done = submit(swap, a_submitted_signature(swap), at=NOON).swap
    assert done is not None
    return done


def out(*hashes: str) -> Swap:
    """Return a swap with a deposit in flight, under one nonce."""
    swap = held()
    assert swap.relay is not None
    relay = with_signed_attempts(swap.relay, *hashes, state=IntentState.ASSIGNED)
    done = mark_relay_broadcast(swap.with_intent(relay), relay, at=NOON + MINUTE).swap
    assert done is not None
    return done


def status_of(swap: Swap) -> AuthorizationStatus:
    assert swap.authorization is not None
    return swap.authorization.status


def test_transaction_in_a_block_is_shown_instead_of_the_last_broadcast() -> None:
    deposit = replace(a_deposit_fact("seen").deposit, transaction_hash=SECOND)

    swap = with_authorization_progress(out(FIRST, SECOND), deposit, FactState.SEEN)

    assert swap.authorization is not None
    assert swap.authorization.transaction_hash == SECOND


def test_a_relay_whose_attempts_are_not_known_is_out_without_a_hash() -> None:
    swap = held()
    assert swap.relay is not None
    relay = replace(swap.relay, state=IntentState.ASSIGNED)

    done = mark_relay_broadcast(swap.with_intent(relay), relay, at=NOON + MINUTE).swap

    assert done is not None
    assert done.authorization is not None
    assert done.authorization.transaction_hash is None


def test_a_signer_is_refunded_only_for_own_money() -> None:
    swap = out(FIRST)
    assert swap.terms.refund_address is None

    mine = replace(a_deposit_fact().deposit, transaction_hash=FIRST)
    assert with_authorization_progress(swap, mine, FactState.CONFIRMED).terms.refund_address == USER
    elsewhere = replace(mine, transaction_hash="0x" + "33" * 32)
    assert (
        with_authorization_progress(swap, elsewhere, FactState.CONFIRMED).terms.refund_address
        is None
    )


def test_a_refund_address_that_was_given_stays() -> None:
    swap = out(FIRST)
    with_address = replace(swap, terms=replace(swap.terms, refund_address="0x" + "44" * 20))
    deposit = replace(a_deposit_fact().deposit, transaction_hash=FIRST)

    assert (
        with_authorization_progress(with_address, deposit, FactState.CONFIRMED).terms.refund_address
        == "0x" + "44" * 20
    )


def test_a_swap_does_not_expire_while_a_signature_may_deposit() -> None:
    swap = held()

    assert decide(swap, at=swap.expires_at + MINUTE).swap is None


@pytest.mark.parametrize(
    ("trigger", "status"),
    [
        (AuthorizationTrigger.BALANCE_SHORT, AuthorizationStatus.INSUFFICIENT),
        (AuthorizationTrigger.SIGNATURE_REFUSED, AuthorizationStatus.REJECTED),
    ],
)
@pytest.mark.parametrize("swap", [held(), out(FIRST)], ids=["held", "out"])
def test_an_end_has_its_reason_and_is_marked_after_the_window(
    swap: Swap, trigger: AuthorizationTrigger, status: AuthorizationStatus
) -> None:
    assert swap.relay is not None
    in_time = end_relay(swap, swap.relay.id, trigger, at=NOON + MINUTE, because="so").swap
    too_late = end_relay(swap, swap.relay.id, trigger, at=LATER + MINUTE, because="so").swap

    assert in_time is not None
    assert too_late is not None
    assert (status_of(in_time), status_of(too_late)) == (status, AuthorizationStatus.EXPIRED)
    assert in_time.relay is None


@pytest.mark.fault("G13")
def test_g13_signature_during_a_deposit_in_progress_is_not_accepted() -> None:
    for swap in (held(), out(FIRST)):
        assert submit(swap, a_submitted_signature(swap, submission=2), at=NOON).swap is None
