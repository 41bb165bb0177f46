"""Pays a different amount by the same method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.e2e.outside import User, call_data, is_pulled

MEMO_DIGITS = 64
GAS_APPROVE = "150000"
DEPOSIT = "depositERC20(bytes32,address,address,uint256)"


async def pay(user: User, prepared: Mapping[str, Any], units: int) -> None:
    """Send a different amount by the action, and wait until it is mined."""
    [action] = prepared["deposit_actions"]
    if action["type"] == "manual_transfer":
        await wait_for_receipts(user, await user.transfer(action, units))
    elif action["token"]["contract"] is None:
        await wait_for_receipts(user, await user.fund(action, value=units))
    elif is_pulled(action):
        async with user.allowing:
            await wait_for_receipts(
                user, await user.fund(allowing(action, units), pulling(action, units))
            )
    else:
        await wait_for_receipts(user, await user.fund(transferring(action, units)))


async def wait_for_receipts(user: User, hashes: list[str]) -> None:
    for one in hashes:
        await user.receipt(one)


def transferring(action: Mapping[str, Any], units: int) -> Mapping[str, Any]:
    """Return the direct transfer of another amount, with the same memo."""
    treasury, _ = action["encoded_args"]
    call = call_data("transfer(address,uint256)", treasury, units)
    return {**action, "call_data": call + action["call_data"][-MEMO_DIGITS:]}


def allowing(
    action: Mapping[str, Any], units: int, *, token: str | None = None
) -> Mapping[str, Any]:
    """Return the approval for the amount that the Depository pulls."""
    return {
        "type": "approve",
        "to_address": token or action["token"]["contract"],
        "amount_in_base_units": "0",
        "call_data": call_data("approve(address,uint256)", action["to_address"], units),
        "gas_limit": GAS_APPROVE,
    }


def pulling(
    action: Mapping[str, Any], units: int, *, token: str | None = None, receiver: str | None = None
) -> Mapping[str, Any]:
    """Return the Depository's call for another amount, token or receiver, with the same id."""
    key, own_token, own_receiver, _ = action["encoded_args"]
    arguments = bytes.fromhex(key[2:]), token or own_token, receiver or own_receiver, units
    return {**action, "call_data": call_data(DEPOSIT, *arguments)}
