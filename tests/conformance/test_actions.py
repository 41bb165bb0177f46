"""The required actions of a swap, by method: exact calls, addresses and steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conformance.signing import RequirementMissing
from tests.conformance.world import World, new_address

rule = pytest.mark.rule
WORD = 64
MEMO_DIGITS = 64
TRANSFER, APPROVE = "a9059cbb", "095ea7b3"  # transfer(address,uint256), approve(address,uint256)


def action_of(prepared: Mapping[str, Any]) -> Mapping[str, Any]:
    [action] = prepared["deposit_actions"]
    return dict(action)


def id_of(prepared: Mapping[str, Any]) -> str:
    return str(prepared["swap"]["id"])


def base_units(prepared: Mapping[str, Any]) -> int:
    swap = prepared["swap"]
    return round(swap["requested_amount"] * 10 ** swap["source_token"]["decimals"])


@rule("D4", "direct-token")
def test_a_plain_transfer_of_a_token_is_a_call_of_the_token_with_a_memo(world: World) -> None:
    prepared = world.direct_token_swap
    action, sequence = action_of(prepared), prepared["swap"]["metadata"]["sequence_number"]
    call = action["call_data"].removeprefix("0x")

    assert action["type"] == "transfer"
    assert action["to_address"] == action["token"]["contract"]
    assert (action["amount"], action["amount_in_base_units"]) == (0, "0")
    assert call.startswith(TRANSFER)
    assert int(call[8 + WORD : 8 + 2 * WORD], 16) == base_units(prepared)
    memo = call[8 + 2 * WORD :]
    assert len(memo) == MEMO_DIGITS
    assert int(memo[8:], 16) == sequence
    assert str(base_units(prepared)) in action["encoded_args"]


@rule("D4", "memo")
def test_the_memo_of_a_coin_is_a_tag_and_the_sequence_number(world: World) -> None:
    prepared = world.direct_swap
    memo = action_of(prepared)["call_data"].removeprefix("0x")

    assert len(memo) == MEMO_DIGITS
    assert int(memo[8:], 16) == prepared["swap"]["metadata"]["sequence_number"]


@rule("D4", "args-forms")
@pytest.mark.parametrize("name", ["swap", "token_swap"])
def test_arguments_are_checksummed_addresses_and_decimal_amounts(world: World, name: str) -> None:
    world.needs_depository()
    swap_id, *rest = action_of(getattr(world, name))["encoded_args"]

    assert len(swap_id) == len("0x") + WORD
    addresses = [one for one in rest if one.startswith("0x")]
    assert addresses
    assert [_checksummed(one) for one in addresses] == addresses
    assert all(one.isdecimal() for one in rest if one not in addresses)


@rule("D4", "own-address")
def test_every_swap_has_a_deposit_address_of_its_own(world: World) -> None:
    order = world.order(world.deposit_address_route, use_deposit_address=True)
    swaps = [
        world.target.create({**order, **more}) for more in ({}, {"use_new_deposit_address": 1})
    ]

    assert len({action_of(one)["to_address"] for one in (world.deposit_address_swap, *swaps)}) == 3


@rule("D2", "approve-exact")
def test_exactly_what_is_deposited_is_approved(world: World) -> None:
    world.needs_depository()
    prepared = world.token_swap
    steps = world.target.steps(id_of(prepared), source_address=new_address())
    approval, spender = steps[0], action_of(prepared)["to_address"]
    call = approval["call_data"].removeprefix("0x")

    assert (approval["type"], approval["step"]) == ("approve", "approve")
    assert call.startswith(APPROVE)
    assert call[8 : 8 + WORD][-40:] == spender.removeprefix("0x").lower()
    assert int(call[8 + WORD :], 16) == base_units(prepared)


@rule("D2", "publish-type")
def test_a_step_of_the_service_has_its_own_type(world: World) -> None:
    steps = world.target.steps(id_of(world.gasless_swap), source_address=world.signer.address)

    assert [step["step"] for step in steps] == ["sign", "publish"]
    assert [step["type"] for step in steps] == ["sign", "publish"]
    assert [step["status"] for step in steps] == ["action_required", "pending"]


@rule("D2", "source-address")
def test_source_address_can_be_given(world: World) -> None:
    parties = world.swap_of_three
    source_address = parties.created["swap"]["source_address"]

    assert source_address.lower() == parties.addresses["source_address"]
    assert world.swap["swap"]["source_address"] is None


@rule("4.1", "inline-methods")
@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("swap", "transfer"),
        ("token_swap", "transfer"),
        ("direct_swap", "transfer"),
        ("direct_token_swap", "transfer"),
        ("deposit_address_swap", "manual_transfer"),
    ],
)
def test_every_way_to_fund_a_swap_is_inline_and_in_the_reads(
    world: World, name: str, type_: str
) -> None:
    created = getattr(world, name)
    path = f"/api/v2/swaps/{id_of(created)}/deposit_actions"
    [step] = world.target.get(path, "[DepositActionsItem]")

    assert action_of(created)["type"] == step["type"] == type_
    assert (step["step"], step["status"]) == ("deposit", "action_required")
    shared = action_of(created)
    assert {name: step[name] for name in shared} == shared


def _checksummed(address: str) -> str:
    try:
        from eth_utils import to_checksum_address  # noqa: PLC0415  comes with eth-account
    except ImportError:
        raise RequirementMissing("checksums cannot be made: install eth-account") from None
    return str(to_checksum_address(address))
