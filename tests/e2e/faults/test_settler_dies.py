"""The settler is killed between any two steps of a payment; the next one pays exactly once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from tests.e2e import gasless, oracle
from tests.e2e.outside import Outside, Route, new_address
from tests.plugins.stack import Stack
from tests.support.waiting import until

# Two on one network may share a transaction; the third is on another lane.
ROUTES = (
    Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.05"),
    Route("ETHEREUM_DEVNET", "USDC", "BASE_DEVNET", "USDC", "12"),
    Route("BASE_DEVNET", "ETH", "ETHEREUM_DEVNET", "ETH", "0.06"),
)


SIGNED = Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "25")


async def sending_of(stack: Stack, swap_id: str) -> Mapping[str, Any]:
    """Return the settler's rows of a swap's payment."""
    answer: Mapping[str, Any] = await stack.admin("settler", f"/swaps/{swap_id}")
    return answer


async def paid_once(stack: Stack, swap_id: str) -> None:
    """Return the payment of a swap: one on the chains, with one intent and one nonce."""
    assert await oracle.payments_of(stack.description, swap_id) == [1]
    sending = await sending_of(stack, swap_id)
    assert [intent["state"] for intent in sending["intents"]] == ["confirmed"]
    assert len({attempt["nonce"] for attempt in sending["attempts"]}) == 1


class TestCrash:
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("after_slot", id="s2_after_slot"),
            pytest.param("after_sign", id="s3_after_sign"),
            pytest.param("before_send", id="s4_before_send"),
            pytest.param("after_send", id="s5_after_send"),
        ],
    )
    @pytest.mark.fault("S2", "S3", "S4", "S5")
    async def test_between_two_steps_pays_once(self, stack: Stack, point: str) -> None:
        await stack.restart_to_crash("settler", f"settler.{point}:1")

        async with Outside(stack.description) as outside:
            done = await asyncio.gather(*(outside.swap(r, user=n) for n, r in enumerate(ROUTES)))

        assert stack.has_crashed("settler", f"settler.{point}:1")
        assert [one.status for one in done] == ["completed"] * len(ROUTES)
        for one in done:
            await paid_once(stack, one.id)

    @pytest.mark.slow
    @pytest.mark.parametrize("point", ["after_slot", "after_sign", "before_send", "after_send"])
    @pytest.mark.fault("S2", "S3", "S4", "S5")
    async def test_between_two_steps_deposits_once_what_was_signed_for(
        self, stack: Stack, point: str
    ) -> None:
        async with Outside(stack.description) as outside:
            user = outside.user(SIGNED.source_network)
            had = await outside.balance(SIGNED.source_network, SIGNED.source_token, user.address)
            await gasless.offered_token(outside, SIGNED.source_network, SIGNED.source_token)
            await stack.restart_to_crash("settler", f"settler.{point}:1")

            done = await gasless.gasless_swap(outside, SIGNED)
            has = await outside.balance(SIGNED.source_network, SIGNED.source_token, user.address)

        assert stack.has_crashed("settler", f"settler.{point}:1")
        assert (done.status, had - has) == ("completed", 25 * 10**6)

    @pytest.mark.fault("S1")
    async def test_s1_before_it_has_a_nonce_pays_once(self, stack: Stack) -> None:
        async with Outside(stack.description) as outside:
            prepared = await outside.partner().create(ROUTES[0], new_address())
            swap_id = prepared["swap"]["id"]
            async with no_nonces(stack, ROUTES[0].destination_network):
                await outside.fund(prepared, ROUTES[0])
                await until(lambda: is_reserved(stack, swap_id), what="the payment is reserved")
                stack.send("settler", signal.SIGKILL)
            seen = await outside.follow(swap_id)

        assert seen[-1]["swap"]["status"] == "completed"
        await paid_once(stack, swap_id)


@asynccontextmanager
async def no_nonces(stack: Stack, network: str) -> AsyncIterator[None]:
    """Lock the row that assigns a network's nonces."""
    async with await psycopg.AsyncConnection.connect(stack.superuser_url) as connection:
        lock = "SELECT FROM settler.signer WHERE network = %s FOR UPDATE"
        await connection.execute(lock, [network])
        yield
        await connection.rollback()


async def is_reserved(stack: Stack, swap_id: str) -> bool:
    async with await psycopg.AsyncConnection.connect(stack.auditor_url) as connection:
        query = "SELECT state FROM settler.intent WHERE swap_id = %s"
        found = await connection.execute(query, [swap_id])
        return await found.fetchall() == [("reserved",)]
