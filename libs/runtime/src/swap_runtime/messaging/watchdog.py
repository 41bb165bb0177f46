"""Notices consumers that are alive in name only.

A Kafka client can stay stuck after a broker's restart or a rebalance without an error. It is stuck
when for long it gets no answer to a poll, or does not join its group. Every partition of its topic
must have a leader. An outage of the broker does not count: a new client would not do better, and
the sweep delivers the messages meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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


@dataclass
class _WatchedConsumer:
    """A consumer, FastStream's subscriber of it, and since when it has work."""

    consumer: Consumer[Any]
    subscriber: Any
    silence_counted_from: float
    unread_since: float | None = None
    unpolled_since: float | None = None  # new partitions: no broker has answered for them yet

    @property
    def topic(self) -> str:
        return self.consumer.topic.name

    @property
    def client(self) -> Any:
        """aiokafka's consumer: another after each start, none before the first."""
        return self.subscriber.consumer

    def look(self) -> None:
        """Measure lag and silence."""
        lag = _lag(self.consumer, self.client)
        if lag == 0:
            self.unread_since = None
        elif self.unread_since is None:
            self.unread_since = time.monotonic()
        if _has_polled(self.consumer, self.client):
            self.unpolled_since = None
        elif self.unpolled_since is None:
            self.unpolled_since = time.monotonic()
        LAG.labels(self.topic).set(lag)
        SILENCE.labels(self.topic).set(self.silence_seconds())

    def silence_seconds(self) -> float:
        """Return for how long a consumer has had no answer that it ought to have.

        aiokafka goes on fetching while it joins, and after an error that ended its heartbeat, but
        returns nothing of what it fetched. So a fetch proves nothing while messages are unread.
        The first message after a quiet hour is not late: its own age counts. Neither are the
        partitions of a rebalance after a quiet hour: aiokafka forgets when it polled them.
        """
        consumer, client = self.consumer, self.client
        if consumer.joining_since is not None:
            last_activity = consumer.joining_since
        elif client is not None and not client.assignment():
            return 0.0  # other processes have all partitions
        else:
            waits_since = self.unread_since or self.unpolled_since
            last_activity = max(consumer.received_at, waits_since or _polled_at(client))
        return time.monotonic() - last_activity

    def is_silent_for(self, seconds: float) -> bool:
        return min(self.silence_seconds(), time.monotonic() - self.silence_counted_from) > seconds


class Watchdog:
    """Watches the consumers of a process from when they joined."""

    def __init__(
        self,
        consumers: Sequence[tuple[Consumer[Any], Any]],
        *,
        stuck_after: timedelta,
        has_leaders: Callable[[str], Awaitable[bool]],
    ) -> None:
        now = time.monotonic()
        self._watched = [
            _WatchedConsumer(consumer, subscriber, now) for consumer, subscriber in consumers
        ]
        self._stuck_after = stuck_after.total_seconds()
        self._has_leaders = has_leaders

    async def __call__(self) -> bool:
        """
        :raises ConsumerStuck: when a consumer stopped, or gets no answers that it ought to get.
        """
        for watched in self._watched:
            if watched.consumer.has_stopped:
                raise ConsumerStuck(f"{watched.topic}: one message after the other failed")
            watched.look()
        silent = [one for one in self._watched if one.is_silent_for(self._stuck_after)]
        if silent:
            await self._judge(silent[0])  # the next round judges the next one: a lookup takes long
        return False

    async def _judge(self, watched: _WatchedConsumer) -> None:
        """Excuse a silent consumer whose topic has no leaders, or has just answered."""
        topic = watched.topic
        has_leaders = await self._has_leaders(topic)
        watched.look()  # it may have been answered, or have new partitions, meanwhile
        phase = _phase(watched.consumer, watched.client)
        if not has_leaders:
            watched.silence_counted_from = time.monotonic()
            log.warning("kafka unavailable", topic=topic, phase=phase)
        elif watched.is_silent_for(self._stuck_after):
            silence = watched.silence_seconds()
            raise ConsumerStuck(f"{topic}: no poll for {silence:.0f} s, {phase}")

    def restart_silence_count(self, *, seconds: float = 0) -> None:
        """Restart the count: the consumers have just joined, or there is nothing to join.

        :param seconds: the time that they have before that, to start.
        """
        for watched in self._watched:
            watched.silence_counted_from = time.monotonic() + seconds

    def unpolled_consumers(self) -> dict[str, str]:
        """Name the consumers whose partitions no broker has answered for, with their phase."""
        return {
            each.topic: _phase(each.consumer, each.client)
            for each in self._watched
            if not _has_polled(each.consumer, each.client)
        }

    def problems(self) -> dict[str, str]:
        """Name the consumers that stopped: the process is not well."""
        return {
            each.topic: "consumer stopped" for each in self._watched if each.consumer.has_stopped
        }

    def unassigned_consumers(self) -> dict[str, str]:
        """Name the consumers that have no partition."""
        return {
            each.topic: "no partition assigned"
            for each in self._watched
            if each.client is None or not each.client.assignment()
        }


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
