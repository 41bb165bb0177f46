"""Notices consumers that are alive in name only.

A Kafka client can stay stuck after a broker's restart or a rebalance without saying so. It is stuck
when its polls have had no answer for long although the broker has the topic. An unavailable broker
does not count, because the sweep delivers the messages meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import structlog

from swap_runtime.messaging.consumer import Consumer
from swap_runtime.telemetry.metrics import gauge

# Alert: beyond a minute. Kafka is away, and the sweep delivers; beyond the limit the process ends.
SILENCE = gauge("consumer_silence_seconds", "Seconds since the last response to a poll", ["topic"])
# Alert: many, for long. Consumers are slower than producers, or a batch cannot be handled.
LAG = gauge(
    "consumer_lag_messages",
    "Messages that Kafka has after the last handled one, in the partitions of this process",
    ["topic"],
)
log = structlog.get_logger()


class ConsumerStuck(Exception):
    """The process must restart."""


class Watchdog:
    """Watches the consumers of a process from when they joined."""

    def __init__(
        self,
        consumers: Sequence[tuple[Consumer[Any], Any]],
        *,
        stuck_after: timedelta,
        has_topic: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._consumers = consumers
        self._stuck_after = stuck_after.total_seconds()
        self._has_topic = has_topic
        self._excused_at = time.monotonic()

    async def __call__(self) -> bool:
        """
        :raises ConsumerStuck: when a consumer stopped, or gets no answers that it ought to get.
        """
        for consumer, subscriber in self._consumers:
            if consumer.has_stopped:
                raise ConsumerStuck(f"{consumer.topic.name}: one message after the other failed")
            silence = self._silence(consumer, subscriber)
            SILENCE.labels(consumer.topic.name).set(silence)
            LAG.labels(consumer.topic.name).set(_lag(consumer, subscriber.consumer))
            if silence > self._stuck_after:
                if await self._has_topic(consumer.topic.name):
                    raise ConsumerStuck(f"{consumer.topic.name}: no poll for {silence:.0f} s")
                self.excuse()
                log.warning("kafka unavailable", topic=consumer.topic.name)
        return False

    def excuse(self) -> None:
        """Restart the count: the consumers have just joined, or there is nothing to join."""
        self._excused_at = time.monotonic()

    def problems(self) -> dict[str, str]:
        """Name the consumers that stopped: the process is not well."""
        return {
            consumer.topic.name: "consumer stopped"
            for consumer, _ in self._consumers
            if consumer.has_stopped
        }

    def unassigned(self) -> dict[str, str]:
        """Name the consumers that have no partition."""
        return {
            consumer.topic.name: "no partition assigned"
            for consumer, subscriber in self._consumers
            if subscriber.consumer is None or not subscriber.consumer.assignment()
        }

    def _silence(self, consumer: Consumer[Any], subscriber: Any) -> float:
        last_activity = max(consumer.received_at, self._excused_at, _polled_at(subscriber.consumer))
        return time.monotonic() - last_activity


def _lag(consumer: Consumer[Any], client: Any) -> int:
    """Return the known number of messages of the assigned partitions that are not handled."""
    partitions = client.assignment() if client is not None else set()
    offsets = consumer.next_offsets
    for lost in offsets.keys() - {each.partition for each in partitions}:
        del offsets[lost]  # another process goes on there
    ends = {each.partition: client.highwater(each) or 0 for each in partitions}
    return sum(max(ends[partition] - offset, 0) for partition, offset in offsets.items())


def _polled_at(client: Any) -> float:
    """When the broker last answered a fetch of any partition, on the monotonic clock."""
    if client is None:
        return 0.0
    stamps = [client.last_poll_timestamp(partition) for partition in client.assignment()]
    last: int | None = max((stamp for stamp in stamps if stamp), default=None)
    if last is None:
        return 0.0
    return time.monotonic() - max(0.0, time.time() - last / 1000)  # noqa: TID251
