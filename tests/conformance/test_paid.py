"""Swaps that are paid: the reads on the way, and the facts of the chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from tests.conformance.paid_swaps import PaidSwaps
from tests.conformance.tables import enums
from tests.conformance.wallet import GAS_USUAL, Chain, Wallets
from tests.conformance.world import World, new_address

rule = pytest.mark.rule
REFUNDED = ["user_transfer_pending", "ls_transfer_pending", "pending_refund", "refunded"]
COMPLETED = ["user_transfer_pending", "ls_transfer_pending", "completed"]
# keccak256 of Deposited(bytes32,address,address,uint256), and of NotWhitelisted()
DEPOSITED = "0xcfccc5211684bc31ce945214025a7453ba30a1ffcc38fcb691ce742437f3f256"
NOT_WHITELISTED = "0x584a7938"
IS_WHITELISTED = "0x3af32abf"  # isWhitelisted(address)


@rule("3.1", "order-of-states")
def test_a_paid_swap_is_completed(paid_swaps: PaidSwaps) -> None:
    ways = (
        paid_swaps.by_depository,
        paid_swaps.by_signature,
        paid_swaps.by_address,
        paid_swaps.by_transfer,
    )
    for journey in ways:
        assert journey.status == "completed"
        assert journey.statuses == [one for one in COMPLETED if one in journey.statuses]
        assert journey.last["swap"]["close_date"] is not None


@rule("2.7", "input-first")
@rule("D4", "max-confirmations")
def test_a_paid_swap_shows_its_deposit(paid_swaps: PaidSwaps) -> None:
    journey = paid_swaps.by_depository
    deposit = journey.transaction("input")

    assert deposit["transaction_hash"] == journey.deposit
    assert deposit["amount"] == journey.created["swap"]["requested_amount"]
    assert 1 <= deposit["max_confirmations"] == deposit["confirmations"]
    assert deposit["status"] == "completed"


@rule("2.7", "output-last")
@rule("D2", "hash-null")
def test_a_completed_swap_shows_its_payout(paid_swaps: PaidSwaps) -> None:
    for journey in (paid_swaps.by_depository, paid_swaps.by_signature):
        for read in journey.seen:
            outputs = [t for t in read["swap"]["transactions"] if t["type"] == "output"]
            if read["swap"]["status"] == "completed":
                assert [t["status"] for t in outputs] == ["completed"]
                assert all(t["transaction_hash"] for t in outputs)
        recipient = journey.created["swap"]["destination_address"]
        assert journey.transaction("output")["to"].lower() == recipient.lower()
        least = journey.created["quote"]["min_receive_amount"]
        assert journey.transaction("output")["amount"] >= least


@rule("2.7", "refuel-shown")
def test_a_refuel_is_shown(paid_swaps: PaidSwaps) -> None:
    refuel = paid_swaps.by_depository.transaction("refuel")

    assert refuel["token"]["contract"] is None
    assert refuel["amount"] == paid_swaps.by_depository.last["refuel"]["amount"]


@rule("3.1", "refunded")
def test_swap_that_cannot_be_delivered_is_refunded(paid_swaps: PaidSwaps) -> None:
    journey = paid_swaps.refunded

    assert journey.status == "refunded"
    assert journey.statuses == [one for one in REFUNDED if one in journey.statuses]
    refund, deposit = journey.transaction("refund"), journey.transaction("input")
    assert refund["status"] == "completed"
    assert refund["token"]["symbol"] == deposit["token"]["symbol"]
    assert refund["amount"] < deposit["amount"]
    assert journey.last["swap"]["fail_reason"]


@rule("3.1", "failed")
def test_a_deposit_without_a_refund_address_fails_with_its_reason(paid_swaps: PaidSwaps) -> None:
    journey = paid_swaps.failed

    assert journey.status == "failed"
    assert journey.last["swap"]["fail_reason"] in enums()["FailReason"]
    assert journey.last["swap"]["close_date"] is not None
    assert {t["type"] for t in journey.last["swap"]["transactions"]} == {"input"}


@rule("3.3", "completed")
@rule("D2", "authorization-transaction")
def test_a_signature_that_paid_is_completed(world: World, paid_swaps: PaidSwaps) -> None:
    path = f"/api/v2/swaps/{paid_swaps.by_signature.id}/authorize"
    authorization = world.target.get(path, "Authorization")

    assert authorization["status"] == "Completed"
    transaction = authorization["transaction"]
    assert transaction["transaction_id"]
    assert (
        transaction["transaction_hash"]
        == (paid_swaps.by_signature.transaction("input")["transaction_hash"])
    )
    assert 1 <= transaction["max_confirmations"] <= transaction["confirmations"]


@rule("8", "one-authorization")
def test_a_swap_takes_one_signature(world: World, paid_swaps: PaidSwaps) -> None:
    path = f"/api/v2/swaps/{paid_swaps.by_signature.id}/authorize"
    answer = world.target.ask("POST", path, json=dict(paid_swaps.by_signature.signed))

    error = answer.refuses("AUTHORIZATION_ALREADY_SUBMITTED")
    assert "already authorized" in error["message"]


@rule("D2", "amount-deposited")
def test_a_swap_without_an_amount_is_for_what_was_deposited(paid_swaps: PaidSwaps) -> None:
    journey = paid_swaps.by_address

    assert journey.created["swap"]["requested_amount"] == 0
    assert journey.last["swap"]["requested_amount"] == journey.transaction("input")["amount"] > 0
    assert journey.transaction("output")["amount"] == journey.last["quote"]["receive_amount"] > 0


@rule("D5", "locked")
def test_a_deposit_in_time_locks_the_quote(paid_swaps: PaidSwaps) -> None:
    for journey in (paid_swaps.by_depository, paid_swaps.by_signature):
        swap, created = journey.last["swap"], journey.created["swap"]
        assert created["quote_locked_at"] is None
        assert created["quote_refreshable"] is True
        assert swap["quote_locked_at"] <= swap["quote_expires_at"]
        assert swap["quote_refreshable"] is False
        assert (swap["quote_revision"], swap["last_requoted_at"]) == (
            created["quote_revision"],
            None,
        )


@rule("D2", "closed")
def test_a_paid_swap_has_no_required_actions(world: World, paid_swaps: PaidSwaps) -> None:
    for journey in (paid_swaps.by_depository, paid_swaps.by_address, paid_swaps.refunded):
        assert journey.last["deposit_actions"] == []
        required = [s for s in world.target.steps(journey.id) if s["status"] == "action_required"]
        assert required == []


@rule("2.7", "refund-in-source")
def test_a_refund_is_found_by_its_hash_and_goes_to_the_refund_address(
    world: World, paid_swaps: PaidSwaps
) -> None:
    refund = paid_swaps.refunded.transaction("refund")
    path = f"/api/v2/swaps/by_transaction_hash/{refund['transaction_hash']}"

    assert refund["transaction_hash"] in _hashes(world.target.get(path, "PreparedSwapResponse"))
    network = paid_swaps.refunded.created["swap"]["source_network"]["name"]
    assert refund["network"]["name"] == network
    assert refund["to"].lower() == paid_swaps.refunded.refund_address.lower()


@rule("D4", "whitelist")
def test_the_depository_lists_its_receivers(world: World, paid_swaps: PaidSwaps) -> None:
    world.needs_depository()
    swap = world.swap["swap"]
    [action] = world.swap["deposit_actions"]
    chain = Chain.of(swap["source_network"])

    def may_receive(address: str) -> int:
        data = IS_WHITELISTED + f"{address.removeprefix('0x').lower():0>64}"
        return int(chain.call("eth_call", {"to": action["to_address"], "data": data}, "latest"), 16)

    assert may_receive(action["encoded_args"][1]) == 1
    assert may_receive(new_address()) == 0


@rule("4.1", "by-hash")
def test_a_swap_is_found_by_its_transactions(world: World, paid_swaps: PaidSwaps) -> None:
    journey = paid_swaps.by_depository

    for transaction_hash in _hashes(journey.last):
        digits = transaction_hash.removeprefix("0x")
        for spelled in (digits.lower(), digits.upper()):
            path = f"/api/v2/swaps/by_transaction_hash/0x{spelled}"
            answer = world.target.get(path, "PreparedSwapResponse")
            # One transaction may pay many swaps; a deposit pays only its own.
            assert transaction_hash in _hashes(answer)
            assert transaction_hash != journey.deposit or answer["swap"]["id"] == journey.id


def _hashes(prepared: Mapping[str, Any]) -> list[str]:
    hashes = [t["transaction_hash"] for t in prepared["swap"]["transactions"]]
    return [one for one in hashes if one is not None]


@rule("D2", "transaction-status")
def test_a_transactions_status_is_returned(world: World, paid_swaps: PaidSwaps) -> None:
    journey = paid_swaps.by_depository
    network = journey.created["swap"]["source_network"]["name"]
    answer = world.target.get(
        "/api/v2/transaction_status",
        "TransactionStatus",
        network=network,
        transaction_id=journey.deposit,
    )

    assert (answer["status"], answer["network"]) == ("completed", network)
    assert answer["transaction_id"] == journey.deposit
    assert (answer["is_found"], answer["is_completed"]) == (True, True)


@rule("D2", "transaction-reverted")
@rule("D2", "transaction-unmatched")
def test_a_transaction_without_a_swap_is_looked_up_on_the_chain(
    world: World, paid_swaps: PaidSwaps
) -> None:
    journey = paid_swaps.by_depository
    network = journey.created["swap"]["source_network"]["name"]
    wallet = Wallets(world.target.settings.stack).on(network)
    [action] = journey.created["deposit_actions"]
    # A function that the Depository does not have, and an empty transfer to the sender.
    calls = {"failed": (action["to_address"], "0xffffffff"), "pending": (wallet.address, "0x")}

    for status, (to, data) in calls.items():
        sent = wallet.send(to=to, value=0, data=data, gas=GAS_USUAL)
        wallet.chain.receipt(sent)
        answer = world.target.get(
            "/api/v2/transaction_status",
            "TransactionStatus",
            network=network,
            transaction_id=sent,
        )
        assert (answer["status"], answer["is_found"], answer["is_completed"]) == (
            status,
            True,
            False,
        )
        assert 1 <= answer["confirmations"] <= answer["max_confirmations"]


@rule("D2", "ledger")
def test_bookings_of_a_swap_are_shown_and_balanced(world: World, paid_swaps: PaidSwaps) -> None:
    path = f"/api/v2/swaps/{paid_swaps.by_depository.id}/ledger"
    booked = world.target.get(path, "[LedgerTransaction]")

    assert booked
    for one in booked:
        sums: Counter[tuple[str, str]] = Counter()
        for posting in one["postings"]:
            asset = (posting["network"], posting["token"])
            sums[asset] += int(posting["amount_in_base_units"])
        assert len(one["postings"]) > 1
        assert set(sums.values()) == {0}


@rule("D2", "events")
def test_events_are_sent_in_order(world: World, paid_swaps: PaidSwaps) -> None:
    path = f"/api/v2/swaps/{paid_swaps.by_depository.id}/events"
    sequences = [one["sequence"] for one in world.target.get(path, "[SwapEvent]")]

    assert len(sequences) >= len(COMPLETED)
    assert sequences == sorted(set(sequences))


@rule("6.2", "deposited")
def test_a_deposit_emits_its_event(world: World, paid_swaps: PaidSwaps) -> None:
    journey = paid_swaps.by_depository
    [action] = journey.created["deposit_actions"]
    chain = Chain.of(journey.created["swap"]["source_network"])
    logs = chain.receipt(journey.deposit)["logs"]

    swap_id, token, receiver, amount = action["encoded_args"]
    deposit_logs = [log for log in logs if log["address"].lower() == action["to_address"].lower()]
    [event] = deposit_logs
    assert [topic[-40:] for topic in event["topics"][2:]] == [
        address.lower()[-40:] for address in (token, receiver)
    ]
    assert event["topics"][0] == DEPOSITED
    assert event["topics"][1] == swap_id
    assert int(event["data"], 16) == int(amount)


@rule("6.2", "not-whitelisted")
def test_a_deposit_for_another_receiver_reverts(world: World, paid_swaps: PaidSwaps) -> None:
    world.needs_depository()
    swap = world.swap["swap"]
    [action] = world.swap["deposit_actions"]
    call = {
        "from": paid_swaps.refunded.transaction("input")["from"],  # an account with enough coins
        "to": action["to_address"],
        "value": hex(int(action["amount_in_base_units"])),
        "data": action["call_data"][:74] + f"{new_address()[2:]:0>64}",
    }

    with pytest.raises(RuntimeError, match=NOT_WHITELISTED):
        Chain.of(swap["source_network"]).call("eth_call", call, "latest")


@rule("7", "no-approval")
def test_a_token_that_is_not_approved_cannot_be_deposited(
    world: World, paid_swaps: PaidSwaps
) -> None:
    world.needs_depository()
    swap = world.token_swap["swap"]
    [action] = world.token_swap["deposit_actions"]
    chain = Chain.of(swap["source_network"])
    call = {"from": new_address(), "to": action["to_address"], "data": action["call_data"]}

    with pytest.raises(RuntimeError, match="revert"):
        chain.call("eth_call", call, "latest")
