"""The kill switch on the running processes: nothing is signed after its answer."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import psycopg
import pytest

from tests.e2e.outside import Outside, Route, new_address
from tests.plugins.stack import Stack
from tests.support.waiting import until

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.1")
ORDER: dict[str, Any] = {
    "source_network": ROUTE.source_network,
    "source_token": ROUTE.source_token,
    "destination_network": ROUTE.destination_network,
    "destination_token": ROUTE.destination_token,
    "destination_address": new_address(),
    "amount": ROUTE.amount,
    "use_depository": True,
}
SWAPS = 6
SIGNED = "SELECT count(*) FROM settler.attempt WHERE network = %s"
WAITING = """
SELECT count(*) FROM settler.intent WHERE network = %s AND kind = 'output' AND state = 'reserved'
"""


async def number(stack: Stack, query: str, *values: str) -> int:
    connection = await psycopg.AsyncConnection.connect(stack.auditor_url)
    async with connection:
        row = await (await connection.execute(query, values)).fetchone()
    assert row is not None
    return int(row[0])


class TestTheKillSwitch:
    @pytest.mark.fault("A17")
    async def test_a17_stops_every_process_and_what_waits_goes_when_it_is_lifted(
        self, stack: Stack, outside: Outside
    ) -> None:
        order = {"network": ROUTE.destination_network, "by": "a test", "reason": "to see it"}
        made = [await outside.partner().create(ROUTE, new_address()) for _ in range(SWAPS)]
        half = SWAPS // 2
        await asyncio.gather(
            *(outside.fund(one, ROUTE, user=n) for n, one in enumerate(made[:half]))
        )

        async def stopped() -> bool:
            # It waits a second for a round in progress, and reports one that takes longer.
            answer = await stack.order("settler", "/payouts/stop", order)
            return bool(answer["nothing_is_signed"])

        try:
            await until(stopped, what="an answer that nothing is signed")
            signed = await number(stack, SIGNED, ROUTE.destination_network)
            await asyncio.gather(
                *(outside.fund(one, ROUTE, user=n) for n, one in enumerate(made[half:]))
            )

            async def refused() -> httpx.Response | None:
                answer = await outside.partner().ask("POST", "/swaps", json=ORDER)
                return answer if answer.status_code == 503 else None

            async def waits() -> bool:
                return await number(stack, WAITING, ROUTE.destination_network) >= half

            answer = await until(refused, what="a swap refused", every=0.5)
            assert answer.json()["error"]["code"] == "PAYOUTS_PAUSED"
            await until(waits, what="payments that nobody signs")
            assert await number(stack, SIGNED, ROUTE.destination_network) == signed
        finally:
            await stack.order("settler", "/payouts/go", order)
        seen = await asyncio.gather(*(outside.follow(one["swap"]["id"]) for one in made))
        assert [one[-1]["swap"]["status"] for one in seen] == ["completed"] * SWAPS
