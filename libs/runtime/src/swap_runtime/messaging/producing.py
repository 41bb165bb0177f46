"""The relay's producer: aiokafka's, recreated after every error."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final
from zlib import crc32

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.errors import MessageSizeTooLargeError  # type: ignore[import-untyped]

from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.relay import Outbound
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_runtime.messaging.topics import ensure_topics
from swap_runtime.postgres.database import forbid_open_transaction
from swap_runtime.settings import KafkaSettings

REQUEST_TIMEOUT_MS: Final = 3000


# Of one partition in one request. A broker takes about a megabyte by default.
BATCH_BYTES_MAX: Final = 512 * 1024
TopicPartition = tuple[str, int]  # topic and partition


class KafkaProducer:
    """Starts with the first message, and again with the first after `discard`.

    Not idempotent: that mode waits for ever for a broker that is away and stops for good after
    some errors. One batch of a partition is in flight at a time anyway, which keeps the order,
    and inboxes drop copies. Batches are filled here: sent one by one, each message would cost
    aiokafka a future and a turn of the event loop.
    """

    def __init__(
        self, kafka: KafkaSettings, topics: Collection[str] = tuple(OUTBOX_SCHEMAS)
    ) -> None:
        """
        :param topics: what is published; a principal of one service may create no others.
        """
        self._kafka = kafka
        self._topics = topics
        self._producer: AIOKafkaProducer | None = None

    async def publish(self, messages: Sequence[Outbound]) -> Sequence[Outbound]:
        forbid_open_transaction("kafka")
        if self._producer is None:
            self._producer = await self._start()
        batches = [
            (target, batch)
            for target, waiting in (await self._by_partition(messages)).items()
            for batch in _split_batches(waiting)
        ]
        return await self._deliver(self._producer, batches)

    async def _by_partition(
        self, messages: Sequence[Outbound]
    ) -> Mapping[TopicPartition, list[Outbound]]:
        """Sort messages by partition. What must stay ordered shares a key, and so a partition."""
        assert self._producer is not None
        counts: dict[str, int] = {}
        by_partition: dict[TopicPartition, list[Outbound]] = defaultdict(list)
        for message in messages:
            topic = message.topic
            if topic not in counts:
                counts[topic] = len(await self._producer.partitions_for(topic))
            by_partition[topic, crc32(message.key) % counts[topic]].append(message)
        return by_partition

    async def _deliver(
        self,
        producer: AIOKafkaProducer,
        batches: Sequence[tuple[TopicPartition, Sequence[Outbound]]],
    ) -> Sequence[Outbound]:
        """Send batches and wait for them. One that is refused for its size goes message by message.

        :raises KafkaError: when one was not delivered; it is then unknown which were.
        """
        sent = [await _send_batch(producer, target, batch) for target, batch in batches]
        results = await asyncio.gather(*sent, return_exceptions=True)
        too_large: list[Outbound] = []
        for (target, batch), result in zip(batches, results, strict=True):
            if isinstance(result, MessageSizeTooLargeError):
                alone = [(target, (message,)) for message in batch]
                again = len(batch) > 1
                too_large += await self._deliver(producer, alone) if again else batch
            elif isinstance(result, BaseException):
                raise result
        return too_large

    async def discard(self) -> None:
        """Drop the connection and everything that is queued on it."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await _stop(producer)

    async def _start(self) -> AIOKafkaProducer:
        # Before every start: a broker that forgot its topics may take messages and lose them.
        await ensure_topics(self._kafka, self._topics)
        producer = AIOKafkaProducer(
            **connection_options(self._kafka),
            acks="all",
            enable_idempotence=False,
            max_batch_size=BATCH_BYTES_MAX,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
        )
        try:
            await producer.start()
        except BaseException:
            await _stop(producer)
            raise
        return producer


def _split_batches(messages: Sequence[Outbound]) -> Iterator[Sequence[Outbound]]:
    """Cut the messages of one partition where a batch would become too large."""
    batch: list[Outbound] = []
    size = 0
    for message in messages:
        if batch and size + message.size > BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += message.size
    yield batch


async def _send_batch(
    producer: AIOKafkaProducer, target: TopicPartition, messages: Sequence[Outbound]
) -> Awaitable[object]:
    batch = producer.create_batch()
    for message in messages:
        added = batch.append(
            key=message.key, value=message.value, timestamp=None, headers=list(message.headers)
        )
        assert added is not None
    topic, partition = target
    delivery: Awaitable[object] = await producer.send_batch(batch, topic, partition=partition)
    return delivery


async def _stop(producer: AIOKafkaProducer) -> None:
    """Close it and ignore errors; it would wait for an unavailable broker."""
    with suppress(Exception):
        async with asyncio.timeout(REQUEST_TIMEOUT_MS / 1000):
            await producer.stop()
