"""The relay's producer: aiokafka's, made anew after every error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Final

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from swap_runtime.database import forbid_open_transaction
from swap_runtime.settings import KafkaSettings
from swap_runtime.topics import ensure_topics

REQUEST_TIMEOUT_MS: Final = 3000


class KafkaProducer:
    """Starts with the first message, and again with the first after `discard`.

    Not idempotent: that mode waits for ever for a broker that is away and stops for good after
    some errors. One batch of a partition is in flight at a time anyway, which keeps the order,
    and inboxes drop copies.
    """

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self._producer: AIOKafkaProducer | None = None

    async def send(
        self, topic: str, value: bytes, key: bytes, headers: Sequence[tuple[str, bytes]]
    ) -> Awaitable[object]:
        if self._producer is None:
            self._producer = await self._started()
        sent: Awaitable[object] = await self._producer.send(
            topic, value, key=key, headers=list(headers)
        )
        return sent

    async def flush(self) -> None:
        if self._producer is not None:
            await self._producer.flush()

    async def discard(self) -> None:
        """Forget the connection and whatever is queued on it."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await _stopped(producer)

    async def _started(self) -> AIOKafkaProducer:
        forbid_open_transaction("kafka")
        # Before every start: a broker that forgot its topics may take messages and lose them.
        await ensure_topics(self._kafka)
        producer = AIOKafkaProducer(
            bootstrap_servers=self._kafka.bootstrap_servers.split(","),
            acks="all",
            enable_idempotence=False,
            linger_ms=0,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
        )
        try:
            await producer.start()
        except BaseException:
            await _stopped(producer)
            raise
        return producer


async def _stopped(producer: AIOKafkaProducer) -> None:
    """Close it, whatever it says; it would wait for a broker that is away."""
    with suppress(Exception):
        async with asyncio.timeout(REQUEST_TIMEOUT_MS / 1000):
            await producer.stop()
