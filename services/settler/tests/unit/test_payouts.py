from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from services.settler.tests.factories import (
    HOUR,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    REQUESTED,
    TREASURY,
    USDC,
    a_deposit_fact,
    a_payout,
    a_swap,
    output_of,
    swap_of,
    with_signed_attempts,
)
from swap_domain.lifecycle import Status
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.messages.message_mapping import paid_id_of
from swap_settler.model.swap import FailReason, IntentState, Swap
from swap_settler.settling.decide import deposits
from swap_settler.settling.decide.payouts import abandon_payment, decide, mark_sent

HASH, OTHER_HASH = "0x" + "11" * 32, "0x" + "12" * 32


def reserved() -> Swap:
    swap = a_swap()
    change = deposits.decide(
        swap, a_deposit_fact(), at=NOON, available=PLENTY, paid_id=paid_id_of(swap)
    )
    return swap_of(change)


def out(state: IntentState = IntentState.BROADCAST) -> Swap:
    swap = reserved()
    return swap.with_intent(with_signed_attempts(output_of(swap), HASH, OTHER_HASH, state=state))


def changes_of_fact(swap: Swap | None, state: str = "confirmed", **more: Any) -> Changes:
    return decide(swap, a_payout(state, **more), at=NOON + HOUR, treasury=TREASURY[POLYGON])


def then(swap: Swap, state: str, **more: Any) -> Swap:
    changed = changes_of_fact(swap, state, **more).swap
    assert changed is not None
    return changed


class TestPaid:
    @pytest.mark.parametrize("state", [IntentState.ASSIGNED, IntentState.BROADCAST])
    def test_shows_the_hash_once_it_is_mined_also_before_it_is_marked_sent(
        self, state: IntentState
    ) -> None:
        change = changes_of_fact(out(state), "seen")

        [intent] = change.intents
        assert (intent.state, intent.transaction_hash) == (IntentState.MINED, HASH)
        assert (intent.block_number, intent.version) == (500, 1)
        assert change.swap is not None
        assert change.swap.status is Status.PAYOUT_PENDING
        assert change.ledger == ()
        assert mark_sent(change.swap, intent.id, at=NOON) is NOTHING

    def test_takes_any_of_its_attempts(self) -> None:
        change = changes_of_fact(out(), "seen", transaction_hash=OTHER_HASH)

        assert change.intents[0].transaction_hash == OTHER_HASH

    @pytest.mark.parametrize("seen_before", [True, False])
    def test_completes_when_it_is_final(self, seen_before: bool) -> None:
        swap = then(out(), "seen") if seen_before else out()

        change = changes_of_fact(swap)

        assert change.swap is not None
        assert (change.previous_status, change.swap.status) == (
            Status.PAYOUT_PENDING,
            Status.COMPLETED,
        )
        assert change.swap.closed_at == NOON + HOUR
        [intent] = change.intents
        assert (intent.state, intent.confirmed_at) == (IntentState.CONFIRMED, NOON + HOUR)
        [entry] = change.ledger
        assert (entry.kind, entry.network, entry.effective_block) == ("payout_final", POLYGON, 500)
        assert [p.base_units for p in entry.postings] == [PAYOUT, -PAYOUT]

    @pytest.mark.fault("R1")
    def test_r1_waits_again_when_a_reorg_took_it(self) -> None:
        change = changes_of_fact(then(out(), "seen"), "reverted")

        [intent] = change.intents
        assert (intent.state, intent.transaction_hash) == (IntentState.BROADCAST, None)
        assert change.swap is not None
        assert then(change.swap, "seen", version=4).output == replace(
            intent,
            state=IntentState.MINED,
            version=4,
            transaction_hash=HASH,
            block_number=500,
            block_hash=a_payout().block_hash,
            block_time=a_payout().block_time,
        )

    @pytest.mark.parametrize("state", ["seen", "confirmed", "reverted"])
    def test_ignores_a_version_that_is_not_newer(self, state: str) -> None:
        swap = then(out(), "seen", version=7)

        assert changes_of_fact(swap, state, version=7) is NOTHING

    def test_keeps_a_final_payment_final_and_stops_when_the_chain_disagrees(self) -> None:
        change = changes_of_fact(then(out(), "confirmed"), "reverted")

        assert change.swap is not None
        assert change.swap.status is Status.COMPLETED
        assert change.intents[0].state is IntentState.CONFIRMED
        assert change.halt is not None

    @pytest.mark.parametrize(
        "wrong",
        [
            {"transaction_hash": "0x" + "99" * 32},
            {"base_units": str(PAYOUT - 1)},
            {"to_address": "0x" + "98" * 20},
            {"token": "0x" + "00" * 20},
            {"intent_id": "5"},
        ],
    )
    def test_puts_what_we_did_not_order_into_suspense_and_halts(
        self, wrong: dict[str, str]
    ) -> None:
        seen, final = (
            changes_of_fact(out(), "seen", **wrong),
            changes_of_fact(out(), "confirmed", **wrong),
        )

        for change in (seen, final):
            assert change.swap is None
            assert change.halt is not None
            assert change.halt.network == POLYGON
        assert seen.ledger == ()
        [entry] = final.ledger
        assert entry.postings[0].account.kind is AccountKind.PAYOUT_SUSPENSE

    def test_halts_for_a_payment_without_a_swap_and_books_only_the_services_part(self) -> None:
        assert changes_of_fact(None).ledger[0].kind == "payout_unexplained"
        assert decide(None, a_payout(), at=NOON, treasury=None).ledger == ()

    def test_a_log_of_an_unsigned_intent_halts_the_signer(self) -> None:
        assert changes_of_fact(reserved(), "seen").halt is not None

    def test_owes_the_partner_s_fee_once_the_output_is_final(self) -> None:
        swap = out()
        document = json.loads(swap.quote.document) | {"partner_fee_base_units": "70"}
        charged = replace(swap, quote=replace(swap.quote, document=json.dumps(document)))

        kinds = [entry.kind for entry in changes_of_fact(charged).ledger]

        assert kinds == ["payout_final", "partner_fee_earned"]


class TestSent:
    def test_shows_the_output_as_initiated(self) -> None:
        swap = out(IntentState.ASSIGNED)

        change = mark_sent(swap, output_of(swap).id, at=NOON)

        assert change.swap is not None
        assert change.swap.sequence == swap.sequence + 1
        assert [i.state for i in change.intents] == [IntentState.BROADCAST]

    @pytest.mark.parametrize(
        "state", [IntentState.BROADCAST, IntentState.MINED, IntentState.CONFIRMED]
    )
    def test_has_no_effect_in_a_later_state(self, state: IntentState) -> None:
        swap = out(state)

        assert mark_sent(swap, output_of(swap).id, at=NOON) is NOTHING

    def test_has_no_effect_on_a_dead_intent(self) -> None:
        assert mark_sent(a_swap(), a_swap().id, at=NOON) is NOTHING


class TestAbandonPayment:
    def test_fails_with_the_money_claimable(self) -> None:
        swap = out()

        change = abandon_payment(
            swap, output_of(swap).id, at=NOON, because="it reverted", failures=5
        )

        assert change.swap is not None
        assert change.swap.status is Status.FAILED
        assert change.swap.fail_reason is FailReason.DESTINATION_UNAVAILABLE
        assert change.swap.output is None
        proof = {"because": "it reverted", "attempts": 2, "failures": 5}
        assert json.loads(change.intents[0].dead_proof or "") == proof
        assert [e.kind for e in change.ledger] == [
            "payout_released",
            "quote_reversed",
            "claimable",
        ]
        assert change.ledger[2].postings[0].base_units == REQUESTED

    @pytest.mark.parametrize("state", [IntentState.MINED, IntentState.CONFIRMED])
    def test_has_no_effect_on_a_mined_payment(self, state: IntentState) -> None:
        swap = out(state)

        assert abandon_payment(swap, output_of(swap).id, at=NOON, because="", failures=1) is NOTHING

    def test_waits_for_the_deposit_again_after_its_reorg(self) -> None:
        change = deposits.decide(
            out(), a_deposit_fact("reverted"), at=NOON, available=PLENTY, paid_id=1
        )
        assert change.swap is not None

        end = abandon_payment(
            change.swap, output_of(change.swap).id, at=NOON, because="", failures=1
        )

        assert end.swap is not None
        assert end.swap.status is Status.DEPOSIT_PENDING
        assert [e.kind for e in end.ledger] == [
            "payout_released",
            "quote_reversed",
            "credit_reversed",
        ]
        assert [d.is_booked for d in end.deposits] == [False]
        again = deposits.decide(
            end.swap, a_deposit_fact(version=9), at=NOON, available=PLENTY, paid_id=1
        )
        assert again.swap is not None
        assert again.swap.status is Status.PAYOUT_PENDING

    def test_the_token_paid_is_the_destinations(self) -> None:
        assert output_of(out()).token == USDC[POLYGON]
