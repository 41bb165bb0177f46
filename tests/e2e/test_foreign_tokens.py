"""Deposits of another token than the swap's: the swap does not change, and nothing is lost.

Every case is a separate swap; all run at once, and then all are checked. Combinations that a method
does not allow are skipped by name. The settler's `money_rows.py` runs the same rows in memory and
on Postgres.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import pytest
from eth_abi.abi import encode
from eth_typing import HexStr

from swap_stack.places import ROOT
from tests.e2e.claims import deposits_in_suspense, has_no_deposit
from tests.e2e.idle_stack import wait_until_idle
from tests.e2e.other_amounts import MEMO_DIGITS, allowing, pulling, wait_for_receipts
from tests.e2e.outside import Outside, Route, User, call_data, new_address
from tests.plugins.stack import Stack

ROUTE: Final = Route("POLYGON_DEVNET", "USDC", "BASE_DEVNET", "USDC", "17")
ANOTHER: Final = "DAI"
MANY: Final = 10**24
METHODS: Final[Mapping[str, Mapping[str, bool]]] = {
    "direct": {"use_depository": False},
    "depository": {"use_depository": True},
    "deposit address": {"use_depository": False, "use_deposit_address": True},
}
GASLESS: Final = "gasless"
ALL_METHODS: Final = (*METHODS, GASLESS)
BY_SIGNATURE: Final = "its signature names the token, the Paymaster and the swap; nothing else fits"
UNWATCHED_RECEIVER: Final = "transfers to other receivers are not watched: no fact is published"
FIXED_RECEIVER_REASONS: Final[Mapping[str, str]] = {
    "direct": UNWATCHED_RECEIVER,
    "deposit address": UNWATCHED_RECEIVER,
    GASLESS: BY_SIGNATURE,
}
TOKENS: Final = ("another token of the catalogue", "a token that is in no catalogue")
CASES: Final = {
    # The amount identifies the case.
    (token, method): 1_000_001 + number
    for number, (token, method) in enumerate((t, m) for t in TOKENS for m in METHODS)
}


async def transferring(user: User, action: Mapping[str, Any], token: str, units: int) -> None:
    """Send the direct transfer of another token, with the swap's memo."""
    treasury, _ = action["encoded_args"]
    call = call_data("transfer(address,uint256)", treasury, units)
    memo = action["call_data"][-MEMO_DIGITS:]
    await wait_for_receipts(
        user, await user.fund({**action, "to_address": token, "call_data": call + memo})
    )


async def through_the_depository(
    user: User, action: Mapping[str, Any], token: str, units: int
) -> None:
    """Deposit another token through the Depository, with the swap's id."""
    first, then = allowing(action, units, token=token), pulling(action, units, token=token)
    await wait_for_receipts(user, await user.fund(first, then))


async def to_the_address(user: User, action: Mapping[str, Any], token: str, units: int) -> None:
    await wait_for_receipts(
        user, await user.transfer({**action, "token": {"contract": token}}, units)
    )


PAY: Final[Mapping[str, Callable[[User, Mapping[str, Any], str, int], Awaitable[None]]]] = {
    "direct": transferring,
    "depository": through_the_depository,
    "deposit address": to_the_address,
}


@pytest.fixture(scope="module")
def swaps(stack: Stack) -> Mapping[tuple[str, str], str]:
    """Fund a swap in each case; return its id after all deposits were handled."""

    async def all_of_them() -> list[str]:
        async with Outside(stack.description) as outside:
            user = outside.user(ROUTE.source_network)
            tokens = (
                str(outside.token(ROUTE.source_network, ANOTHER)["contract"]),
                await a_users_own_token(user),
            )
            contracts = dict(zip(TOKENS, tokens, strict=True))

            async def one(token: str, method: str) -> str:
                prepared = await outside.partner().create(ROUTE, new_address(), **METHODS[method])
                [action] = prepared["deposit_actions"]
                await PAY[method](user, action, contracts[token], CASES[token, method])
                return str(prepared["swap"]["id"])

            ids = await asyncio.gather(*(one(*case) for case in CASES))
            await wait_until_idle(stack.description)
            return ids

    return dict(zip(CASES, asyncio.run(all_of_them()), strict=True))


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.fault("W22")
async def test_w22_foreign_token_is_not_credited_and_booked_in_suspense_if_listed(
    stack: Stack,
    outside: Outside,
    swaps: Mapping[tuple[str, str], str],
    token: str,
    method: str,
) -> None:
    if method == GASLESS:
        pytest.skip(BY_SIGNATURE)
    units = CASES[token, method]

    assert await has_no_deposit(outside, swaps[token, method])
    suspended_deposits = [
        row for row in await deposits_in_suspense(stack) if row["base_units"] == str(units)
    ]
    # A token outside the catalogue has no account.
    assert [row["swap_id"] for row in suspended_deposits] == ([None] if token == TOKENS[0] else [])


@pytest.mark.parametrize("method", ALL_METHODS)
async def test_depository_refuses_another_receiver(outside: Outside, method: str) -> None:
    if method in FIXED_RECEIVER_REASONS:
        pytest.skip(FIXED_RECEIVER_REASONS[method])
    user = outside.user(ROUTE.source_network, 1)
    prepared = await outside.partner().create(ROUTE, new_address(), use_depository=True)
    [action] = prepared["deposit_actions"]

    to_user = pulling(action, 1, receiver=user.address)
    hashes = await user.fund(allowing(action, 1), to_user)
    await user.receipt(hashes[0])
    refused = await user.chain.eth.wait_for_transaction_receipt(HexStr(hashes[1]))

    assert refused["status"] == 0
    assert await has_no_deposit(outside, prepared["swap"]["id"])


async def a_users_own_token(user: User) -> str:
    """Create a token with the name of the swap's token; return its address."""
    artifact = json.loads((ROOT / "evm/artifacts/DevToken.json").read_text())
    types = ["string", "string", "uint8", "address", "uint256"]
    arguments = encode(types, ["USD Coin", "USDC", 6, user.address, MANY])
    made = await user.create(HexStr(artifact["bytecode"] + arguments.hex()))
    return str(made["contractAddress"])
