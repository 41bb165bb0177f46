"""One consumer of one topic, however its messages come: by Kafka or by the sweep."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Generic

import structlog

from swap_contracts.envelope import Body, Topic
from swap_runtime.messaging.batches import Batches, TooManyParked
from swap_runtime.messaging.records import Position, Record
from swap_runtime.messaging.watermark import SKIPPED

log = structlog.get_logger()


class Consumer(Generic[Body]):
    """What the subscription, the sweep and the watchdog share."""

    def __init__(self, topic: Topic[Body], group: str, batches: Batches[Body]) -> None:
        self.topic = topic
        self.group = group
        self.has_stopped = False
        self.received_at = monotonic()
        self.joining_since: float | None = self.received_at  # None once its group admitted it
        self.is_handling = False  # a batch of Kafka's
        # By partition, the offset after the last message that was handled.
        self.next_offsets: dict[int, int] = {}
        self.watermark: Position | None = None  # as of the sweep's last look: at most too low
        self._batches = batches

    def begin_joining(self) -> None:
        """Count from the first attempt: a group that refuses each one is seen as silence."""
        if self.joining_since is None:
            self.joining_since = monotonic()

    async def receive(self, records: Sequence[Record]) -> None:
        """Take a batch from Kafka. What the watermark has passed is a duplicate.

        :raises Unavailable: when the whole batch has to be tried again.
        :raises TooManyParked: when nothing works any more; the consumer has stopped then.
        """
        self.received_at = monotonic()
        for record in records:
            self.next_offsets.setdefault(record.partition, record.offset)
        self.is_handling = True
        new_records = [record for record in records if not self._has_passed(record)]
        SKIPPED.labels(self.topic.name).inc(len(records) - len(new_records))
        try:
            await self.handle(new_records)
        finally:
            self.is_handling = False
        self.next_offsets |= {record.partition: record.offset + 1 for record in records}

    async def handle(self, records: Sequence[Record]) -> None:
        """As `receive`, for what the sweep found missing."""
        try:
            await self._batches(records)
        except TooManyParked:
            self.has_stopped = True
            log.exception("consumer stopped", topic=self.topic.name)
            raise

    async def handle_alone(self, value: bytes) -> None:
        """Run one parked message; raises whatever is wrong with it."""
        await self._batches.run_alone(value)

    def _has_passed(self, record: Record) -> bool:
        position, mark = record.position, self.watermark
        return position is not None and mark is not None and position.is_passed_by(mark)
