"""A transfer without a memo pays for a swap after its sender signs which one."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from tests.e2e.claims import deposits_in_suspense
from tests.e2e.outside import Outside, Route, call_data, new_address
from tests.e2e.wallets import a_wallet_that_signs, execute, fill
from tests.plugins.stack import Stack
from tests.support.waiting import until

COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.31")
TOKEN = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "31.5")


async def send_without_memo(outside: Outside, route: Route, prepared: Mapping[str, Any]) -> str:
    """Send the swap's amount without its memo, as from the form of a wallet."""
    [action] = prepared["deposit_actions"]
    arguments = action["encoded_args"]
    treasury = outside.networks[route.source_network]["contracts"]["treasury"]
    units = int(arguments[1]) if arguments else int(action["amount_in_base_units"])
    user = outside.user(route.source_network)
    [sent] = await user.transfer({**action, "to_address": treasury}, units)
    return sent


async def waiting(outside: Outside, swap_id: str, sent: str) -> Mapping[str, Any]:
    """Return the transfer with the text to sign, after the service has recorded it."""
    path = f"/swaps/{swap_id}/attach_deposit"

    async def seen() -> httpx.Response | None:
        answer = await outside.partner().ask("GET", path, params={"transaction_id": sent})
        return answer if answer.status_code == HTTPStatus.OK else None

    [one] = (await until(seen, what=f"transfer {sent}")).json()["data"]
    return dict(one)


@pytest.mark.each_broker
@pytest.mark.parametrize("route", [COIN, TOKEN], ids=["coin", "token"])
async def test_a_transfer_without_a_memo_is_attached_by_its_senders_signature(
    stack: Stack, outside: Outside, route: Route
) -> None:
    before = await deposits_in_suspense(stack)
    prepared = await outside.partner().create(route, new_address(), use_depository=False)
    swap_id = prepared["swap"]["id"]
    sent = await send_without_memo(outside, route, prepared)
    transfer = await waiting(outside, swap_id, sent)
    assert (transfer["status"], transfer["transaction_hash"]) == ("attachable", sent)
    user = outside.user(route.source_network)
    text = encode_defunct(text=transfer["text"])

    path = f"/swaps/{swap_id}/attach_deposit"
    other_signature = Account.sign_message(text, "0x" + "51" * 32).signature.to_0x_hex()
    refused = await outside.partner().ask(
        "POST", path, json={"transaction_id": sent, "signature": other_signature}
    )
    assert refused.json()["error"]["code"] == "SIGNATURE_INVALID"
    signature = Account.sign_message(text, user.private_key).signature.to_0x_hex()
    accepted = await outside.partner().ask(
        "POST", path, json={"transaction_id": sent, "signature": signature}
    )
    assert accepted.status_code == HTTPStatus.OK, accepted.text
    seen = await outside.follow(swap_id)

    swap = seen[-1]["swap"]
    assert swap["status"] == "completed"
    [came] = [t for t in swap["transactions"] if t["type"] == "input"]
    assert (came["transaction_hash"], came["from"]) == (sent, user.address)
    assert (await waiting(outside, swap_id, sent))["status"] == "attached"
    assert await deposits_in_suspense(stack) == before


async def test_a_wallet_with_code_attaches_what_it_sent_by_its_own_signature(
    stack: Stack, outside: Outside
) -> None:
    """The wallet accepts its key's signature (EIP-1271), and no other one."""
    before = await deposits_in_suspense(stack)
    prepared = await outside.partner().create(TOKEN, new_address(), use_depository=False)
    swap_id = prepared["swap"]["id"]
    [action] = prepared["deposit_actions"]
    treasury, units = action["encoded_args"]
    user = outside.user(TOKEN.source_network)
    wallet = await a_wallet_that_signs(user)
    await fill(user, wallet, action["to_address"], int(units))
    plain = call_data("transfer(address,uint256)", treasury, int(units))
    sent = await execute(user, wallet, action["to_address"], plain)
    transfer = await waiting(outside, swap_id, sent)
    text = encode_defunct(text=transfer["text"])

    path = f"/swaps/{swap_id}/attach_deposit"
    answers = [
        await outside.partner().ask(
            "POST",
            path,
            json={
                "transaction_id": sent,
                "signature": Account.sign_message(text, key).signature.to_0x_hex(),
            },
        )
        for key in ("0x" + "51" * 32, user.private_key)
    ]
    seen = await outside.follow(swap_id)

    assert answers[0].json()["error"]["code"] == "SIGNATURE_INVALID"
    assert answers[1].status_code == HTTPStatus.OK, answers[1].text
    swap = seen[-1]["swap"]
    [came] = [t for t in swap["transactions"] if t["type"] == "input"]
    assert (swap["status"], came["from"]) == ("completed", wallet)
    assert await deposits_in_suspense(stack) == before
