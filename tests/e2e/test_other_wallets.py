"""The service's actions work in two wallets, byte for byte and without additions.

Each method that a wallet sends is tested with eth-account and with viem, all at once, step by step.
The wallet sends the next step, waits until it is mined, and reads the following one. A transfer by
a person has no call data: the wallet scans the payment URI instead (EIP-681). Methods with a
signature and without a transaction are in `test_gasless.py`, for both wallets.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.e2e import viem
from tests.e2e.outside import GAS_TRANSFER, Outside, Route, User, call_data, new_address
from tests.plugins.stack import Stack

COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.02")
TOKEN = Route("BASE_DEVNET", "DAI", "POLYGON_DEVNET", "USDC", "30")
OTHER_COIN = Route("POLYGON_DEVNET", "POL", "ETHEREUM_DEVNET", "ETH", "60")
DIRECT: Mapping[str, bool] = {"use_depository": False}
DEPOSITORY = {"use_depository": True}
ADDRESS = {"use_depository": False, "use_deposit_address": True}
# The method, the route, and the user's steps.
WAYS = {
    "direct, a coin": (DIRECT, COIN, ["deposit"]),
    "direct, a token": (DIRECT, TOKEN, ["deposit"]),
    "depository, a coin": (DEPOSITORY, COIN, ["deposit"]),
    "depository, a token": (DEPOSITORY, TOKEN, ["approve", "deposit"]),
    "deposit address, a coin": (ADDRESS, OTHER_COIN, ["deposit"]),
    "deposit address, a token": (ADDRESS, TOKEN, ["deposit"]),
}
PATIENCE = 30.0
PAYMENT_URI = re.compile(
    r"ethereum:(?P<target>0x[0-9a-fA-F]{40})@\d+(?:/(?P<function>transfer))?\?(?P<query>.+)"
)
Wallet = Callable[[User, str, Mapping[str, Any]], Awaitable[str]]


async def by_eth_account(user: User, _: str, step: Mapping[str, Any]) -> str:
    [sent] = await user.fund({**step, "gas_limit": step["gas_limit"] or GAS_TRANSFER})
    await user.receipt(sent)
    return sent


async def by_viem(user: User, rpc_url: str, step: Mapping[str, Any]) -> str:
    [sent] = await viem.send(rpc_url, user.private_key, [step])
    return sent


WALLETS: Mapping[str, Wallet] = {"eth-account": by_eth_account, "viem": by_viem}


def scanned(uri: str) -> Mapping[str, Any]:
    """Return the transaction of a wallet that scans a QR code; the wallet estimates the gas."""
    found = PAYMENT_URI.fullmatch(uri)
    assert found is not None, uri
    target, parameters = found["target"], dict(parse_qsl(found["query"]))
    expected = {"type": "transfer", "to_address": target, "gas_limit": None}
    if found["function"] is None:
        return {**expected, "amount_in_base_units": parameters["value"], "call_data": "0x"}
    call = call_data("transfer(address,uint256)", parameters["address"], int(parameters["uint256"]))
    return {**expected, "amount_in_base_units": "0", "call_data": call}


@dataclass(frozen=True, slots=True)
class Sent:
    """The transaction that a wallet sent for a swap, and its result."""

    action: Mapping[str, Any]  # in the answer to the creation
    steps: Sequence[Mapping[str, Any]]
    hashes: Sequence[str]
    swap: Mapping[str, Any]
    received: int


async def send(outside: Outside, way: str, wallet: str, user: User) -> Sent:
    method, route, expected = WAYS[way]
    recipient = new_address()
    prepared = await outside.partner().create(route, recipient, **method)
    [action] = prepared["deposit_actions"]
    swap_id, rpc_url = prepared["swap"]["id"], outside.networks[route.source_network]["rpc_urls"][0]
    steps: list[Mapping[str, Any]] = []
    hashes: list[str] = []
    for _ in expected:
        listed = await outside.partner().get(
            f"/swaps/{swap_id}/deposit_actions", source_address=user.address
        )
        [step] = [one for one in listed if one["status"] == "action_required"]
        steps.append(step)
        request = scanned(step["detail"]) if step["type"] == "manual_transfer" else step
        hashes.append(await WALLETS[wallet](user, rpc_url, request))
    await outside.follow(swap_id)
    swap = (await outside.with_hashes(swap_id))["swap"]
    received = await outside.balance(route.destination_network, route.destination_token, recipient)
    return Sent(action, steps, hashes, swap, received)


@pytest.fixture(scope="module")
def sent(stack: Stack) -> Mapping[tuple[str, str], Sent | BaseException]:
    cases = list(product(WAYS, WALLETS))

    async def all_of_them() -> list[Sent | BaseException]:
        async with Outside(stack.description, patience=PATIENCE) as outside:
            # Each case of a network is a different user, so no other sender takes its next nonce.
            numbers: defaultdict[str, Iterator[int]] = defaultdict(count)
            networks = [WAYS[way][1].source_network for way, _ in cases]
            users = [outside.user(network, next(numbers[network])) for network in networks]
            return await asyncio.gather(
                *(send(outside, *case, user) for case, user in zip(cases, users, strict=True)),
                return_exceptions=True,  # each is the result of one case, and the others continue
            )

    return dict(zip(cases, asyncio.run(all_of_them()), strict=True))


def raise_if_failed(one: Sent | BaseException) -> Sent:
    if isinstance(one, BaseException):
        raise one
    return one


@pytest.mark.parametrize("wallet", WALLETS)
@pytest.mark.parametrize("way", WAYS)
def test_a_wallet_sends_what_is_returned_as_it_is(
    sent: Mapping[tuple[str, str], Sent | BaseException], way: str, wallet: str
) -> None:
    one = raise_if_failed(sent[way, wallet])

    assert [step["step"] for step in one.steps] == WAYS[way][2]
    # The action of the creation must be the last one sent, unchanged.
    assert {name: one.steps[-1][name] for name in one.action} == one.action
    assert one.swap["status"] == "completed"
    [deposit] = [t for t in one.swap["transactions"] if t["type"] == "input"]
    assert deposit["transaction_hash"] == one.hashes[-1]
    assert one.received > 0


@pytest.mark.parametrize("wallet", WALLETS)
def test_the_approval_is_for_exactly_the_deposited_amount(
    sent: Mapping[tuple[str, str], Sent | BaseException], wallet: str
) -> None:
    approval, deposit = raise_if_failed(sent["depository, a token", wallet]).steps

    spender, amount = deposit["to_address"], int(deposit["encoded_args"][3])
    assert (approval["type"], approval["to_address"]) == ("approve", deposit["token"]["contract"])
    assert approval["amount_in_base_units"] == "0"
    assert approval["call_data"] == call_data("approve(address,uint256)", spender, amount)
