from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    MINUTE,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    RECIPIENT,
    REQUESTED,
    TREASURY,
    USER,
    a_catalogue,
    a_deposit,
    a_deposit_fact,
    a_payout,
    a_quote,
    a_swap,
    swap_id,
    with_signed_attempts,
)
from swap_contracts.envelope import Envelope
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_contracts.tracing import trace_id_of
from swap_domain.lifecycle import Status
from swap_settler.model.changes import Changes
from swap_settler.model.messages.message_mapping import paid_id_of
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import DepositState, IntentState, Swap
from swap_settler.settling.decide import deposits, payouts
from swap_settler.settling.decide.requests import begin


def published_message(change: Changes) -> Envelope[SwapChanged]:
    [message] = SwapMessages(a_catalogue()).outgoing([change], at=NOON + HOUR)
    assert message.topic == SWAP_CHANGED.name
    return SWAP_CHANGED.envelope.model_validate_json(message.payload)


def paid_for() -> Changes:
    swap = a_swap()
    return deposits.decide(
        swap, a_deposit_fact(), at=NOON, available=PLENTY, paid_id=paid_id_of(swap)
    )


def out(state: IntentState) -> Swap:
    swap = paid_for().swap
    assert swap is not None
    assert swap.output is not None
    return swap.with_intent(with_signed_attempts(swap.output, state=state))


def test_publishes_the_whole_swap_after_its_first_sequence() -> None:
    envelope = published_message(replace(begin(a_swap()), trace_id="asked"))

    body = envelope.body
    assert (body.sequence, body.status, body.previous_status) == (1, "user_transfer_pending", None)
    assert body.cause == "swap_requested"
    assert body.quote == a_quote()
    assert body.method == "depository"
    assert body.transactions == ()
    assert (envelope.trace_id, envelope.occurred_at) == (trace_id_of(swap_id(7)), NOON + HOUR)


@pytest.mark.parametrize("change", [replace(begin(a_swap()), trace_id="t"), paid_for()])
def test_swap_message_has_the_members_and_the_form_of_the_contract(
    change: Changes,
) -> None:
    [message] = SwapMessages(a_catalogue()).outgoing([change], at=NOON + HOUR)

    read = SWAP_CHANGED.envelope.model_validate_json(message.payload)
    assert orjson.loads(message.payload) == orjson.loads(read.model_dump_json())
    sealed = SWAP_CHANGED.seal(
        read.body, version=read.body.sequence, occurred_at=NOON, trace_id=read.trace_id
    )
    assert (message.message_id, message.key) == (sealed.message_id, sealed.key.encode())
    assert (read.message_id, read.key, read.type) == (sealed.message_id, sealed.key, sealed.type)


def test_message_id_is_derived_from_the_sequence() -> None:
    swap = a_swap()

    first, again, second = (
        published_message(begin(one)).message_id for one in (swap, swap, swap.on(NOON))
    )

    assert first == again != second


def test_swap_message_shows_the_deposit_and_the_pending_payout() -> None:
    change = paid_for()

    body = published_message(replace(change, trace_id="t")).body

    assert (body.previous_status, body.status) == ("user_transfer_pending", "ls_transfer_pending")
    deposit, payout = body.transactions
    assert (deposit.type, deposit.status) == ("input", "completed")
    assert (deposit.base_units, deposit.from_address, deposit.to_address) == (
        str(REQUESTED),
        USER,
        TREASURY[ETHEREUM],
    )
    assert (deposit.block_number, deposit.at) == (102, NOON + MINUTE)
    assert (payout.type, payout.status, payout.transaction_hash) == ("output", "pending", None)
    assert (payout.from_address, payout.to_address) == (TREASURY[POLYGON], RECIPIENT)
    assert (payout.base_units, payout.confirmations_required) == (str(PAYOUT), 64)


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (DepositState.SEEN, ["initiated"]),
        (DepositState.CREDITED, ["completed"]),
        (DepositState.REVERTED, []),
    ],
)
def test_swap_message_shows_a_deposit_unless_it_is_reverted(
    state: DepositState, shown: list[str]
) -> None:
    swap = a_swap().with_deposit(replace(a_deposit(), state=state))

    assert [t.status for t in published_message(begin(swap)).body.transactions] == shown


def test_hides_the_hash_of_a_payment_until_it_is_mined() -> None:
    assigned = out(IntentState.ASSIGNED)
    assert assigned.output is not None

    sent = published_message(
        payouts.mark_sent(assigned, assigned.output.id, at=NOON)
    ).body.transactions[1]
    assert (sent.status, sent.transaction_hash) == ("initiated", None)

    mined = payouts.decide(assigned, a_payout("seen"), at=NOON, treasury=TREASURY[POLYGON])
    payout = published_message(mined).body.transactions[1]
    assert (payout.status, payout.transaction_hash) == ("initiated", "0x" + "11" * 32)
    assert (payout.block_number, payout.at) == (500, NOON + 2 * MINUTE)


def test_message_of_a_completed_swap_has_its_output() -> None:
    change = payouts.decide(
        out(IntentState.BROADCAST), a_payout(), at=NOON, treasury=TREASURY[POLYGON]
    )

    body = published_message(change).body
    assert body.status == Status.COMPLETED.value
    assert [t.status for t in body.transactions] == ["completed", "completed"]
    assert body.closed_at == NOON


@pytest.mark.parametrize("cause", [None, "asked"])
def test_swap_message_has_the_trace_of_its_swap(cause: str | None) -> None:
    change = replace(begin(a_swap()), trace_id=cause)

    assert published_message(change).trace_id == trace_id_of(swap_id(7))


def test_changes_without_a_swap_publish_no_swap() -> None:
    assert SwapMessages(a_catalogue()).outgoing([Changes(trace_id="t")], at=NOON) == []
