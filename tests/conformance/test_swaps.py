"""Unpaid swaps: their members, their actions, and how lists find them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from tests.conformance.world import World, new_address

rule = pytest.mark.rule
NATIVE_WORDS, TOKEN_WORDS = 2, 4
SEQUENCE_MAX = 2**53 - 1


def id_of(prepared: Mapping[str, Any]) -> str:
    return str(prepared["swap"]["id"])


def action_of(prepared: Mapping[str, Any]) -> Mapping[str, Any]:
    [action] = prepared["deposit_actions"]
    return dict(action)


@rule("3.1", "created-pending")
def test_a_new_swap_waits_for_the_user(world: World) -> None:
    swap = world.swap["swap"]

    assert swap["status"] == "user_transfer_pending"
    assert swap["transactions"] == []
    assert (swap["close_date"], swap["fail_reason"]) == (None, None)
    assert swap["destination_address"].lower() == world.recipient
    assert swap["metadata"]["reference_id"] == "conformance"


@rule("2.2", "same-shape")
def test_a_swap_is_read_as_it_was_created(world: World) -> None:
    read = world.target.read(id_of(world.swap))

    assert read["swap"] == world.swap["swap"]
    assert read["deposit_actions"] == world.swap["deposit_actions"]


@rule("D4", "sequence-number")
def test_sequence_numbers_of_swaps_differ(world: World) -> None:
    numbers = [s["swap"]["metadata"]["sequence_number"] for s in (world.swap, world.token_swap)]

    assert all(1 <= number <= SEQUENCE_MAX for number in numbers)
    assert len(set(numbers)) == 2


# Required actions


@rule("2.8", "native-amount")
@rule("D1", "same-quantity")
def test_a_coin_is_deposited_as_a_whole(world: World) -> None:
    world.needs_depository()
    action, swap = action_of(world.swap), world.swap["swap"]

    assert action["type"] == "transfer"
    assert action["amount"] == swap["requested_amount"]
    assert int(action["amount_in_base_units"]) / 10 ** swap["source_token"]["decimals"] == (
        pytest.approx(swap["requested_amount"], rel=1e-15)
    )
    assert action["token"]["symbol"] == swap["source_token"]["symbol"]


@rule("2.8", "erc20-amount")
def test_a_token_is_deposited_by_a_call_without_value(world: World) -> None:
    world.needs_depository()
    action = action_of(world.token_swap)

    assert (action["amount"], action["amount_in_base_units"]) == (0, "0")
    assert action["to_address"] != action["token"]["contract"]


@rule("2.8", "depository-args")
@rule("D4", "depository-id")
@pytest.mark.parametrize(("name", "words"), [("swap", NATIVE_WORDS), ("token_swap", TOKEN_WORDS)])
def test_a_depository_call_carries_the_swaps_id(world: World, name: str, words: int) -> None:
    world.needs_depository()
    prepared = getattr(world, name)
    action = action_of(prepared)

    call, arguments = action["call_data"], action["encoded_args"]
    assert len(arguments) == words
    assert int(arguments[0], 16) == prepared["swap"]["metadata"]["sequence_number"]
    assert len(arguments[0]) == 66
    assert call[10:74] == arguments[0][2:]
    encoded = [int(a, 16) if a.startswith("0x") else int(a) for a in arguments]
    assert call[10:] == "".join(f"{argument:064x}" for argument in encoded)
    if words == TOKEN_WORDS:
        assert arguments[1] == action["token"]["contract"]
    assert int(action["gas_limit"]) > 0


@rule("2.8", "fee-token")
def test_the_fee_is_paid_in_the_networks_coin(world: World) -> None:
    for prepared in (world.swap, world.token_swap):
        action = action_of(prepared)
        assert action["fee_token"]["symbol"] == action["network"]["token"]["symbol"]


@rule("D2", "direct")
def test_a_plain_transfer_carries_a_memo(world: World) -> None:
    action, swap = action_of(world.direct_swap), world.direct_swap["swap"]

    assert action["type"] == "transfer"
    assert action["amount"] == swap["requested_amount"]
    assert f"{swap['metadata']['sequence_number']:x}" in action["call_data"]


@rule("D2", "manual-transfer")
def test_a_deposit_address_is_a_transfer_by_hand(world: World) -> None:
    prepared = world.deposit_address_swap
    action = action_of(prepared)

    assert action["type"] == "manual_transfer"
    assert prepared["swap"]["use_deposit_address"] is True
    assert world.swap["swap"]["use_deposit_address"] is False
    assert action["amount"] == prepared["swap"]["requested_amount"]
    first = world.target.steps(id_of(prepared))[0]
    assert (first["type"], first["to_address"]) == ("manual_transfer", action["to_address"])


@rule("D2", "open-amount")
def test_swap_with_a_deposit_address_needs_no_amount(world: World) -> None:
    order = world.order(world.deposit_address_route, use_deposit_address=True)
    del order["amount"]
    prepared = world.target.create(order)

    action, quote = action_of(prepared), prepared["quote"]
    assert prepared["swap"]["requested_amount"] == 0
    assert (action["amount"], action["amount_in_base_units"]) == (0, "0")
    assert (quote["requested_amount"], quote["receive_amount"]) == (0, 0)
    assert quote["rate"] > 0


@rule("2.9", "one-action-required")
@rule("D2", "types-once")
@pytest.mark.parametrize(
    "name", ["swap", "token_swap", "direct_swap", "deposit_address_swap", "gasless_swap"]
)
def test_exactly_one_step_is_to_be_done(world: World, name: str) -> None:
    steps = world.target.steps(id_of(getattr(world, name)), source_address=world.signer.address)

    carrying = [step for step in steps if step["network"] is not None]
    required = [step for step in steps if step["status"] == "action_required"]
    assert carrying == required
    [one] = required
    assert one["type"] in ("transfer", "manual_transfer", "sign", "approve")
    if one["type"] in ("transfer", "manual_transfer"):
        assert steps[0] == one
    for step in steps:
        if step is not one:
            assert (step["to_address"], step["token"], step["call_data"]) == (None, None, None)
            assert step["typed_data"] is None
    data_types = [s["type"] for s in steps if s["type"] in ("transfer", "manual_transfer", "sign")]
    assert len(set(data_types)) == len(data_types)


@rule("D2", "approve-first")
def test_payer_without_an_allowance_approves_first(world: World) -> None:
    world.needs_depository()
    swap_id = id_of(world.token_swap)
    steps = world.target.steps(swap_id, source_address=new_address())
    anyone = world.target.steps(swap_id)

    assert (steps[0]["step"], steps[0]["status"]) == ("approve", "action_required")
    assert steps[0]["to_address"] == world.token_swap["swap"]["source_token"]["contract"]
    [deposit] = [step for step in steps if step["step"] == "deposit"]
    assert (deposit["type"], deposit["status"]) == ("transfer", "pending")
    assert [step["status"] for step in anyone if step["step"] == "deposit"] == ["action_required"]


@rule("4.1", "exclude-actions")
def test_actions_may_be_left_out(world: World) -> None:
    answer = world.target.read(id_of(world.swap), exclude_deposit_actions="true")

    assert answer["deposit_actions"] == []


@rule("4.1", "experimental")
@rule("2.10", "one-thing")
@pytest.mark.parametrize("name", ["swap", "token_swap", "deposit_address_swap", "gasless_swap"])
def test_the_next_action_is_the_step_that_is_to_be_done(world: World, name: str) -> None:
    swap_id, payer = id_of(getattr(world, name)), world.signer.address
    path = f"/api/v2/experimental/swaps/{swap_id}"
    answer = world.target.get(path, "PreparedSwapResponse", source_address=payer)
    steps = world.target.steps(swap_id, source_address=payer)

    [one] = [step for step in steps if step["status"] == "action_required"]
    following = answer["next_action"]
    assert answer["deposit_actions"] == []
    assert following["step"] == one["step"]
    assert following["status"] == "action_required"
    assert {name: one[name] for name in following["action"]} == following["action"]


@rule("4.1", "speedup-silent")
def test_a_hint_of_an_unknown_transaction_is_no_error(world: World) -> None:
    path = f"/api/v2/swaps/{id_of(world.swap)}/deposit_speedup"
    body = {"transaction_id": "0x" + secrets.token_hex(32)}

    for _ in range(2):
        answer = world.target.ask("POST", path, json=body)
        assert (answer.status, answer.envelope) == (200, {"error": None})


@rule("D2", "transaction-hinted")
def test_a_transaction_that_only_a_hint_names_is_pending(world: World) -> None:
    body = {"transaction_id": "0x" + secrets.token_hex(32)}
    parameters = {"network": world.swap["swap"]["source_network"]["name"], **body}
    unknown = world.target.ask("GET", "/api/v2/transaction_status", params=parameters)
    unknown.refuses("NOT_FOUND")

    path = f"/api/v2/swaps/{id_of(world.swap)}/deposit_speedup"
    world.target.ask("POST", path, json=body)
    answer = world.target.get("/api/v2/transaction_status", "TransactionStatus", **parameters)

    assert (answer["status"], answer["is_found"], answer["is_completed"]) == (
        "pending",
        False,
        False,
    )


@rule("D2", "refund-address-set")
def test_a_refund_address_is_set_once(world: World) -> None:
    path = f"/api/v2/swaps/{id_of(world.target.create(world.order()))}/refund_address"

    first = world.target.ask("POST", path, json={"refund_address": new_address()})
    second = world.target.ask("POST", path, json={"refund_address": new_address()})

    assert first.status == 200
    assert second.status in range(400, 500)


@rule("D5", "quote-expires")
def test_the_quote_of_a_swap_expires(world: World) -> None:
    swap = world.swap["swap"]
    expires_at = datetime.fromisoformat(swap["quote_expires_at"])

    assert datetime.fromisoformat(swap["created_date"]) < expires_at
    assert swap["quote_refreshable"] is True
    assert (swap["quote_locked_at"], swap["last_requoted_at"]) == (None, None)


# Members of creations


@rule("D1", "numbers-in")
@pytest.mark.parametrize("form", ["{}", "0{}", "{}0", "number", "point"])
def test_amounts_are_numbers_or_text(world: World, form: str) -> None:
    order = world.order()
    amount = order["amount"] if "." in order["amount"] else f"{order['amount']}.0"
    forms: dict[str, Any] = {"number": float(amount), "point": f"{float(amount):.0f}."}
    if form == "point" and float(amount) < 1:
        forms["point"] = amount.removeprefix("0")
    sent = forms.get(form, form.format(amount))

    swap = world.target.create({**order, "amount": sent})["swap"]

    assert swap["requested_amount"] == float(sent)


@rule("D1", "unknown-ignored")
def test_unknown_and_null_members_are_ignored(world: World) -> None:
    metadata = {"colour": "blue", "source_exchange": None, "reference_id": None}

    assert id_of(world.target.create(world.order(**metadata)))


@rule("D2", "events")
def test_a_swaps_history_begins_with_its_creation(world: World) -> None:
    path = f"/api/v2/swaps/{id_of(world.swap)}/events"
    events = world.wait_for(lambda: world.target.get(path, "[SwapEvent]"))

    assert [one["sequence"] for one in events] == sorted(one["sequence"] for one in events)


@rule("D2", "events-live")
def test_a_swaps_history_can_be_followed(world: World) -> None:
    path = f"/api/v2/swaps/{id_of(world.swap)}/events"
    world.wait_for(lambda: world.target.get(path, "[SwapEvent]"))
    headers = {
        world.target.settings.key_header: world.target.keys["secret"],
        "Accept": "text/event-stream",
    }

    with world.target.http.stream("GET", path, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert any(line.startswith("data:") for line in lines)
