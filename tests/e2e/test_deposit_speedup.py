"""A client names a transaction as the payment: from the request to the watcher's lookup."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import psycopg

from tests.e2e.outside import Outside, Route, new_address
from tests.plugins.stack import Stack
from tests.support.waiting import until

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.2")
NEVER = "PT1H"  # with this interval a watcher finds only hinted transactions
UNKNOWN = "0x" + "ab" * 32


async def speed_up(outside: Outside, swap_id: str, transaction_id: str) -> None:
    answer = await outside.partner().ask(
        "POST", f"/swaps/{swap_id}/deposit_speedup", json={"transaction_id": transaction_id}
    )
    assert (answer.status_code, answer.json()) == (HTTPStatus.OK, {"error": None})


async def hinted(stack: Stack) -> set[str]:
    """Return the transactions that the watcher was given to look up."""
    async with await psycopg.AsyncConnection.connect(stack.auditor_url) as connection:
        rows = await connection.execute("SELECT transaction_hash FROM chain_watcher.hint")
        return {str(row[0]) for row in await rows.fetchall()}


async def test_a_hint_reaches_a_watcher_that_sleeps(stack: Stack, outside: Outside) -> None:
    prepared = await outside.partner().create(ROUTE, new_address())
    swap_id = prepared["swap"]["id"]
    await stack.restart("chain_watcher", SWAP_CHAIN_WATCHER__POLL_INTERVAL=NEVER)
    try:
        [paid] = await outside.fund(prepared, ROUTE)
        await speed_up(outside, swap_id, paid)
        await speed_up(outside, swap_id, paid.upper().replace("0X", "0x"))

        async def seen() -> Mapping[str, Any] | None:
            swap = (await outside.partner().read(swap_id))["swap"]
            return next(iter(swap["transactions"]), None)

        deposit = await until(seen, what="the deposit that was told of")
    finally:
        await stack.restart("chain_watcher")

    assert (deposit["type"], deposit["transaction_hash"]) == ("input", paid)
    assert (await outside.follow(swap_id))[-1]["swap"]["status"] == "completed"


async def test_an_unknown_transaction_is_searched_without_effect_on_the_swap(
    stack: Stack, outside: Outside
) -> None:
    prepared = await outside.partner().create(ROUTE, new_address())
    swap_id = prepared["swap"]["id"]

    await speed_up(outside, swap_id, UNKNOWN)

    async def is_looked_for() -> bool:
        return UNKNOWN in await hinted(stack)

    await until(is_looked_for, what="the hint")
    assert (await outside.partner().read(swap_id))["swap"]["status"] == "user_transfer_pending"
