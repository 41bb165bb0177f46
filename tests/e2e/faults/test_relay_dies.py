"""A service is killed while it publishes: its messages are published again and count once."""

from __future__ import annotations

import asyncio

import pytest

from tests.e2e.journey import STATUSES
from tests.e2e.outside import Outside, Route
from tests.e2e.webhooks import deliveries_upto
from tests.plugins.stack import Stack

PUBLISHERS = ("api", "chain_watcher", "settler")
ROUTES = (
    Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.05"),
    Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "12"),
)
PATIENCE = 60.0


@pytest.mark.each_broker
class TestCrash:
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("before_publish", id="k1_before_publish"),
            pytest.param("after_publish", id="k2_after_publish"),
        ],
    )
    @pytest.mark.fault("K1", "K2")
    async def test_around_publishing_loses_and_duplicates_no_message(
        self, stack: Stack, point: str
    ) -> None:
        crash = f"relay.{point}:1"
        await asyncio.gather(*(stack.restart_to_crash(service, crash) for service in PUBLISHERS))

        async with Outside(stack.description, patience=PATIENCE) as outside:
            done = await asyncio.gather(*(outside.swap(r, user=n) for n, r in enumerate(ROUTES)))

        assert [one.status for one in done] == ["completed"] * len(ROUTES)
        assert [stack.has_crashed(service, crash) for service in PUBLISHERS] == [True] * 3
        for one in done:
            deliveries = await deliveries_upto(stack.received_file(), one.id, STATUSES)
            assert [delivery.payload["swap"]["status"] for delivery in deliveries] == STATUSES
