"""A user that signs and sends no transaction, from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from eth_account import Account

from tests.e2e.outside import FINAL, FinishedSwap, Outside, Route, User, new_address
from tests.support.waiting import until


def sign(user: User, typed_data: Mapping[str, Any]) -> str:
    """Return the signature of eth_signTypedData_v4."""
    signed = Account.sign_typed_data(user.private_key, full_message=dict(typed_data))
    return str(signed.signature.to_0x_hex())


async def offered_token(outside: Outside, network: str, symbol: str) -> Mapping[str, Any]:
    """Return a token after the service has checked on the chain that it supports signatures."""

    async def looked_up() -> Mapping[str, Any] | None:
        networks = await outside.partner().get("/networks")
        tokens = next(n["tokens"] for n in networks if n["name"] == network)
        token = next(dict(t) for t in tokens if t["symbol"] == symbol)
        return token if token["supports_gasless_deposit"] else None

    return await until(looked_up, what=f"{symbol} on {network} is signed for")


async def sign_step(outside: Outside, swap_id: str, wallet: str) -> Mapping[str, Any]:
    """Return the step that requires a signature of the wallet."""
    steps = await outside.partner().get(f"/swaps/{swap_id}/deposit_actions", source_address=wallet)
    [found] = [step for step in steps if step["step"] == "sign"]
    return dict(found)


async def authorize(outside: Outside, swap_id: str, user: User, signature: str) -> Any:
    body = {"signature": signature, "signer_address": user.address}
    answer = await outside.partner().ask("POST", f"/swaps/{swap_id}/authorize", json=body)
    return answer.json()


async def submit(outside: Outside, swap_id: str, user: User, *, within: float = 60) -> None:
    """Sign and submit a swap's typed data; retry while the service is down."""

    async def is_taken() -> bool:
        step = await sign_step(outside, swap_id, user.address)
        if step["status"] != "action_required":
            return True  # an earlier answer was lost
        try:
            answer = await authorize(outside, swap_id, user, sign(user, step["typed_data"]))
        except (httpx.TransportError, ValueError):
            return False
        error = answer["error"]
        return error is None or error["code"] == "AUTHORIZATION_ALREADY_SUBMITTED"

    await until(is_taken, what=f"the signature of {swap_id} is taken", within=within)


async def status(outside: Outside, swap_id: str) -> Mapping[str, Any]:
    authorization: Mapping[str, Any] = await outside.partner().get(f"/swaps/{swap_id}/authorize")
    return authorization


async def gasless_swap(
    outside: Outside, route: Route, *, user: int = 0, recipient: str | None = None, **more: object
) -> FinishedSwap:
    """Create a swap, sign its typed data, and follow it to its end."""
    await offered_token(outside, route.source_network, route.source_token)
    signer, to = outside.user(route.source_network, user), recipient or new_address()
    options = {"use_depository": False, "use_gasless": True, **more}
    prepared = await outside.partner().create(route, to, **options)
    swap_id = prepared["swap"]["id"]
    step = await sign_step(outside, swap_id, signer.address)
    answer = await authorize(outside, swap_id, signer, sign(signer, step["typed_data"]))
    assert answer["error"] is None, answer
    seen = await outside.follow(swap_id, to=FINAL)
    sent = (await status(outside, swap_id))["transaction"]["transaction_hash"]
    return FinishedSwap(prepared, to, [sent], seen)
