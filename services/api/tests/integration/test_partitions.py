"""A topic got more partitions: later messages of a key may overtake earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from api_factories import AT, a_message, a_swap
from api_harness import Harness

from libs.runtime.tests.fakes import FakeParking
from swap_contracts.envelope import Envelope, Topic
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_runtime.messaging.batches import UseCase
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.producing import KafkaProducer
from swap_runtime.messaging.relay import Outbound
from swap_runtime.messaging.topics import ensure_topics
from tests.plugins.broker import Broker
from tests.support.waiting import until

pytestmark = pytest.mark.connected
SWAPS = 40
WITHIN_SECONDS = 60


@asynccontextmanager
async def consuming(
    broker: Broker, topic: Topic[SwapChanged], usecase: UseCase[SwapChanged]
) -> AsyncIterator[Any]:
    subscriptions = Subscriptions(broker.settings)
    consume(subscriptions, topic, consumer_name="api", usecase=usecase, parking=FakeParking())
    try:
        await subscriptions.broker.start()
        yield subscriptions.consumers[0][1].consumer
    finally:
        await subscriptions.broker.stop()


async def publish_to_the_only_partition(
    broker: Broker, topic: str, messages: Sequence[tuple[bytes, bytes]]
) -> None:
    """Publish to the one partition that the topic had before."""
    async with AIOKafkaProducer(bootstrap_servers=broker.settings.bootstrap_servers) as producer:
        for key, value in messages:
            await producer.send_and_wait(topic, value, key=key, partition=0)


@pytest.mark.fault("K18")
async def test_k18_change_that_a_later_one_overtakes_has_no_effect(
    api: Harness, broker: Broker
) -> None:
    topic = Topic(f"swaps.{uuid4().hex}", SWAP_CHANGED.envelope, SWAP_CHANGED.key)
    await ensure_topics(broker.settings, [topic.name])
    early = [a_swap(sequence=1) for _ in range(SWAPS)]
    late = [
        swap.model_copy(update={"sequence": 2, "status": "completed", "closed_at": AT})
        for swap in early
    ]
    is_held, may_go_on = asyncio.Event(), asyncio.Event()

    async def hold_early_messages(messages: Sequence[Envelope[SwapChanged]]) -> None:
        if any(message.body.sequence == 1 for message in messages):
            is_held.set()
            await may_go_on.wait()
        await api.parts.swaps.store_swaps(messages)

    async def completed(at_least: int) -> bool:
        [row] = await api.rows("SELECT count(*) FROM swap WHERE status = 'completed'")
        return bool(row.count >= at_least)

    async def has_all() -> bool:
        [row] = await api.rows("SELECT count(*) FROM inbox WHERE consumer = 'api'")
        return bool(row.count == 2 * SWAPS)

    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(consuming(broker, topic, hold_early_messages))
            for _ in range(2)
        ]

        async def have_partitions() -> bool:
            return all(client.assignment() for client in clients)

        await until(have_partitions)
        await publish_to_the_only_partition(broker, topic.name, [in_bytes(s) for s in early])
        await asyncio.wait_for(is_held.wait(), WITHIN_SECONDS)
        producer = KafkaProducer(broker.settings)
        await producer.publish([Outbound(topic.name, *in_bytes(swap), ()) for swap in late])
        await producer.discard()
        await until(lambda: completed(1))
        may_go_on.set()
        await until(has_all)

    assert await completed(SWAPS)


def in_bytes(swap: SwapChanged) -> tuple[bytes, bytes]:
    message = a_message(swap)
    return str(swap.swap_id).encode(), message.model_dump_json().encode()
