"""Kafka is only a fast path: without it swaps are slower, and nothing else changes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]

from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from tests.e2e.outside import Outside, Route, new_address
from tests.plugins.stack import Stack

ROUTES = (
    Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.05"),
    Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "12"),
)


async def complete_all(stack: Stack) -> None:
    async with Outside(stack.description) as outside:
        done = await asyncio.gather(*(outside.swap(r, user=n) for n, r in enumerate(ROUTES)))
    assert [one.status for one in done] == ["completed"] * len(ROUTES)


@asynccontextmanager
async def without_kafka(stack: Stack) -> AsyncIterator[None]:
    """Delete every topic; stop the embedded broker, which loses its topics anyway."""
    if stack.broker_kind == "embedded":
        stack.send_broker(signal.SIGKILL)
    else:
        admin = AIOKafkaAdminClient(**connection_options(stack.kafka))
        await admin.start()
        await admin.delete_topics(list(OUTBOX_SCHEMAS))
        await admin.close()
    try:
        yield
    finally:
        await stack.start_broker()
        await stack.ready()


@pytest.mark.each_broker
class TestLostTopics:
    @pytest.mark.fault("K14", "K19")
    async def test_k14_do_not_keep_a_swap_from_its_end(self, stack: Stack) -> None:
        async with without_kafka(stack):
            await complete_all(stack)

        await complete_all(stack)


@pytest.mark.each_broker
class TestBrokerThatStandsStill:
    @pytest.mark.fault("K13")
    async def test_k13_does_not_block_creation_and_swaps_end_after_its_return(
        self, stack: Stack
    ) -> None:
        stack.send_broker(signal.SIGSTOP)
        try:
            async with Outside(stack.description) as outside:
                created = [await outside.partner().create(r, new_address()) for r in ROUTES]
                for prepared, route in zip(created, ROUTES, strict=True):
                    await outside.fund(prepared, route)
        finally:
            stack.send_broker(signal.SIGCONT)

        async with Outside(stack.description) as outside:
            ends = [await outside.follow(prepared["swap"]["id"]) for prepared in created]
        assert [seen[-1]["swap"]["status"] for seen in ends] == ["completed"] * len(ROUTES)

    @pytest.mark.fault("K13")
    async def test_k13_is_not_needed_for_a_swap_to_end(self, stack: Stack) -> None:
        stack.send_broker(signal.SIGSTOP)
        try:
            await complete_all(stack)
        finally:
            stack.send_broker(signal.SIGCONT)
