"""Notices consumers that are alive in name only.

A Kafka client can stay stuck after a broker's restart or a rebalance without an error. It is stuck
when it has had no answer to a poll, or has not joined its group, for long although every partition
of its topic has a leader. A broker that is unavailable or has no leaders does not count: a new
client would not do better, and the sweep delivers the messages meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import structlog

from swap_runtime.messaging.consumer import Consumer
from swap_runtime.telemetry.metrics import gauge

# Alert: beyond a minute. Kafka or its leaders are away and the sweep delivers, or the process ends.
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
        has_leaders: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._consumers = consumers
        self._stuck_after = stuck_after.total_seconds()
        self._has_leaders = has_leaders
        self._excused_at = time.monotonic()

    async def __call__(self) -> bool:
        """
        :raises ConsumerStuck: when a consumer stopped, or gets no answers that it ought to get.
        """
        for consumer, subscriber in self._consumers:
            if consumer.has_stopped:
                raise ConsumerStuck(f"{consumer.topic.name}: one message after the other failed")
            lag = _lag(consumer, subscriber.consumer)
            LAG.labels(consumer.topic.name).set(lag)
            silence = _silence(consumer, subscriber.consumer, lag)
            SILENCE.labels(consumer.topic.name).set(silence)
            if min(silence, time.monotonic() - self._excused_at) > self._stuck_after:
                phase = _phase(consumer, subscriber.consumer)
                if await self._has_leaders(consumer.topic.name):
                    raise ConsumerStuck(
                        f"{consumer.topic.name}: no poll for {silence:.0f} s, {phase}"
                    )
                self.excuse()
                log.warning("kafka unavailable", topic=consumer.topic.name, phase=phase)
        return False

    def excuse(self, *, seconds: float = 0) -> None:
        """Restart the count: the consumers have just joined, or there is nothing to join.

        :param seconds: the time that they have before that, to start.
        """
        self._excused_at = time.monotonic() + seconds

    def unpolled(self) -> dict[str, str]:
        """Name the consumers whose partitions no broker has answered for, with their phase."""
        return {
            consumer.topic.name: _phase(consumer, subscriber.consumer)
            for consumer, subscriber in self._consumers
            if not _has_polled(consumer, subscriber.consumer)
        }

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


def _silence(consumer: Consumer[Any], client: Any, lag: int) -> float:
    """Return for how many seconds a consumer has had no answer that it ought to have.

    aiokafka goes on fetching while it joins, and after an error that ended its heartbeat, but
    returns nothing of what it fetched. So a fetch proves nothing while messages are unread.
    """
    if consumer.joining_since is not None:
        last_activity = consumer.joining_since
    elif client is not None and not client.assignment():
        return 0.0  # other processes have all partitions
    elif lag > 0:
        last_activity = consumer.received_at
    else:
        last_activity = max(consumer.received_at, _polled_at(client))
    return time.monotonic() - last_activity


def _phase(consumer: Consumer[Any], client: Any) -> str:
    """Say what a consumer is about, for the log: the first step that it has not taken."""
    if client is None:
        return "not started"
    if consumer.joining_since is not None:
        return "joining its group"
    if consumer.is_handling:
        return "handling a batch"
    if not client.assignment():
        return "without a partition"
    return "fetching" if _polled_at(client) else "finding its offsets"


def _has_polled(consumer: Consumer[Any], client: Any) -> bool:
    if client is None or consumer.joining_since is not None:
        return False
    return not client.assignment() or _polled_at(client) > 0


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
