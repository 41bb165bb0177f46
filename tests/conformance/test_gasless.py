"""Swaps that are funded by a signature; no user here has a balance."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import Any

import pytest

from tests.conformance.signing import RequirementMissing
from tests.conformance.world import UnusedKey, World

rule = pytest.mark.rule
HALF_AN_HOUR = 30 * 60
PRIMARY_TYPES = {"eip3009": "ReceiveWithAuthorization", "eip2612": "Permit"}


@pytest.fixture
def sign_request(world: World) -> Mapping[str, Any]:
    """Return the sign step of a gasless swap."""
    return sign_step(world, world.gasless_swap["swap"]["id"], world.signer.address)


def sign_step(world: World, swap_id: str, signer: str) -> Mapping[str, Any]:
    steps = world.target.steps(swap_id, source_address=signer)
    [found] = [step for step in steps if step["type"] == "sign"]
    return dict(found)


def authorize(world: World, swap_id: str, signature: str, signer: str) -> Any:
    body = {"signature": signature, "signer_address": signer}
    return world.target.ask("POST", f"/api/v2/swaps/{swap_id}/authorize", json=body)


@rule("4.1", "sign-step")
def test_the_sign_step_contains_all_signed_data(
    world: World, sign_request: Mapping[str, Any]
) -> None:
    swap = world.gasless_swap["swap"]

    assert sign_request["status"] == "action_required"
    assert (
        sign_request["typed_data"]["primaryType"] == PRIMARY_TYPES[sign_request["signing_standard"]]
    )
    assert sign_request["signing_standard"] == swap["source_token"]["gasless_standard"]
    assert sign_request["amount"] == swap["requested_amount"]
    assert sign_request["valid_after"] < sign_request["valid_before"]
    assert sign_request["nonce"]
    assert set(sign_request["typed_data"]) == {"types", "primaryType", "domain", "message"}


@rule("D2", "typed-data")
def test_integers_of_typed_data_survive_javascript(sign_request: Mapping[str, Any]) -> None:
    typed = sign_request["typed_data"]

    assert typed["types"]["EIP712Domain"]
    assert isinstance(typed["domain"]["chainId"], int)
    kinds = {member["name"]: member["type"] for member in typed["types"][typed["primaryType"]]}
    for name, value in typed["message"].items():
        if kinds[name].startswith("uint"):
            assert isinstance(value, str)
            assert value.isdecimal()


@rule("8", "window")
def test_a_signature_is_valid_for_about_half_an_hour(
    world: World, sign_request: Mapping[str, Any]
) -> None:
    if world.target.settings.is_sandbox:
        raise RequirementMissing("a sandbox's swaps, and what is signed for them, may end sooner")

    left = sign_request["valid_before"] - time()

    assert HALF_AN_HOUR * 0.8 < left < HALF_AN_HOUR * 1.2


@rule("D2", "same-bytes")
def test_repeated_sign_request_has_the_same_bytes(
    world: World, sign_request: Mapping[str, Any]
) -> None:
    swap_id = world.gasless_swap["swap"]["id"]
    again = sign_step(world, swap_id, world.signer.address)
    read = world.target.read(swap_id, source_address=world.signer.address)

    for name in ("typed_data", "nonce", "valid_after", "valid_before"):
        assert again[name] == sign_request[name]
        assert [action[name] for action in read["deposit_actions"]] == [sign_request[name]]


@rule("D2", "signer-missing")
def test_a_creation_without_a_signer_names_the_missing_parameter(world: World) -> None:
    created = world.target.create(world.order(world.gasless_route, use_gasless=True))

    assert created["deposit_actions"] == []
    assert created["next_action"]["status"] == "action_required"
    assert "source_address" in created["next_action"]["detail"]


@rule("D2", "sign-inline")
def test_the_sign_action_is_inline_for_a_given_signer(world: World) -> None:
    signer = world.signer
    order = world.order(world.gasless_route, use_gasless=True, source_address=signer.address)
    created = world.target.create(order)

    [action] = created["deposit_actions"]
    assert action["type"] == "sign"
    step = sign_step(world, created["swap"]["id"], signer.address)
    assert step["typed_data"] == action["typed_data"]
    # The typed data counts as fetched, so a signature is checked and not refused as premature.
    signature = signer.sign(action["typed_data"])
    answer = authorize(world, created["swap"]["id"], signature, signer.address)
    answer.refuses("INSUFFICIENT_SIGNER_BALANCE")


@rule("D2", "no-actions-gasless")
@rule("2.3", "gasless-source-address")
def test_swap_without_a_signer_has_no_actions(world: World) -> None:
    created = world.gasless_swap
    read = world.target.read(created["swap"]["id"])

    assert created["deposit_actions"] == []
    assert read["deposit_actions"] == []
    assert created["swap"]["source_address"] is None


@rule("D2", "gasless-and-depository")
def test_gasless_and_depository_go_together(world: World) -> None:
    order = world.order(world.gasless_route, use_gasless=True, use_depository=True)

    assert world.target.create(order)["swap"]["status"] == "user_transfer_pending"


@rule("3.3", "initiated")
def test_a_requested_authorization_is_initiated(
    world: World, sign_request: Mapping[str, Any]
) -> None:
    fresh = world.target.create(world.order(world.gasless_route, use_gasless=True))["swap"]["id"]
    sign_step(world, fresh, world.signer.address)
    authorization = world.target.get(f"/api/v2/swaps/{fresh}/authorize", "Authorization")

    assert (authorization["status"], authorization["transaction"]) == ("Initiated", None)


@rule("5", "bad-signature")
@rule("4.1", "authorize-refused")
def test_a_wrong_signature_does_not_use_up_the_authorization(
    world: World, sign_request: Mapping[str, Any]
) -> None:
    swap_id, signer = world.gasless_swap["swap"]["id"], world.signer

    strange = UnusedKey().sign(sign_request["typed_data"])
    authorize(world, swap_id, strange, signer.address).refuses("SIGNATURE_INVALID")

    genuine = signer.sign(sign_request["typed_data"])
    answer = authorize(world, swap_id, genuine, signer.address)
    error = answer.refuses("INSUFFICIENT_SIGNER_BALANCE")
    for words in ("already authorized", "expired", "no authorization request found"):
        assert words not in error["message"]


@rule("4.1", "gasless-only")
def test_swap_of_another_method_accepts_no_signature(world: World) -> None:
    answer = authorize(world, world.swap["swap"]["id"], "0x00", world.signer.address)

    answer.refuses("AUTHORIZATION_NOT_REQUESTED")
