from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition  # type: ignore[import-untyped]

from libs.runtime.tests.fakes import NOTES, FakeParking, Note, a_record
from swap_contracts.envelope import Envelope
from swap_runtime.messaging.batches import Batches, TooManyParked
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.watchdog import ConsumerStuck, Watchdog
from swap_runtime.telemetry.metrics import REGISTRY

NOT_RUNNING = SimpleNamespace(consumer=None)
AN_HOUR_AGO = 3600.0


def a_consumer() -> Consumer[Note]:
    async def fail(_: Sequence[Envelope[Note]]) -> None:
        raise ValueError

    return Consumer(NOTES, "test", Batches(NOTES, fail, FakeParking(), parked_in_a_row_max=0))


def a_working_consumer() -> Consumer[Note]:
    async def work(_: Sequence[Envelope[Note]]) -> None:
        return None

    return Consumer(NOTES, "test", Batches(NOTES, work, FakeParking()))


def a_watchdog(
    consumer: Consumer[Any], *, kafka_is_available: bool, stuck_after: timedelta = timedelta(0)
) -> Watchdog:
    async def has_leaders(_: str) -> bool:
        return kafka_is_available

    return Watchdog([(consumer, NOT_RUNNING)], stuck_after=stuck_after, has_leaders=has_leaders)


class TestWatchdog:
    @pytest.mark.fault("K17")
    async def test_k17_ends_the_process_of_a_consumer_that_gets_no_answers(self) -> None:
        watchdog = a_watchdog(a_consumer(), kafka_is_available=True)

        with pytest.raises(ConsumerStuck):
            await watchdog()

    @pytest.mark.fault("K13")
    async def test_k13_leaves_it_alone_while_kafka_is_away(self) -> None:
        watchdog = a_watchdog(a_consumer(), kafka_is_available=False)

        await watchdog()

        assert watchdog.problems() == {}

    async def test_silence_is_measured_also_while_kafka_is_unavailable(self) -> None:
        consumer = a_consumer()
        watchdog = a_watchdog(consumer, kafka_is_available=False)
        assert consumer.joining_since is not None
        consumer.joining_since -= AN_HOUR_AGO

        await watchdog()
        await watchdog()

        silence = REGISTRY.get_sample_value("swap_consumer_silence_seconds", {"topic": NOTES.name})
        assert silence is not None
        assert silence > AN_HOUR_AGO

    async def test_leaves_it_alone_while_it_may_still_answer(self) -> None:
        watchdog = a_watchdog(a_consumer(), kafka_is_available=True, stuck_after=timedelta(hours=1))

        await watchdog()

        assert watchdog.problems() == {}

    async def test_ends_the_process_of_a_consumer_that_parked_too_many(self) -> None:
        consumer = a_consumer()
        watchdog = a_watchdog(consumer, kafka_is_available=True, stuck_after=timedelta(hours=1))
        with pytest.raises(TooManyParked):
            await consumer.receive([a_record()])

        with pytest.raises(ConsumerStuck):
            await watchdog()
        assert watchdog.problems() == {NOTES.name: "consumer stopped"}


class TestJoining:
    """A client keeps fetching its former partitions until its group admits it again."""

    @staticmethod
    def watchdog(
        consumer: Consumer[Note], client: Client, stuck_after: timedelta = timedelta(minutes=1)
    ) -> Watchdog:
        async def has_leaders(_: str) -> bool:
            return True

        watchdog = Watchdog(
            [(consumer, SimpleNamespace(consumer=client))],
            stuck_after=stuck_after,
            has_leaders=has_leaders,
        )
        watchdog.restart_silence_count(seconds=-AN_HOUR_AGO)
        return watchdog

    @pytest.mark.fault("K17")
    async def test_k17_ends_the_process_of_a_consumer_whose_group_does_not_admit_it(self) -> None:
        consumer = a_working_consumer()
        consumer.joining_since = time.monotonic() - AN_HOUR_AGO
        watchdog = self.watchdog(consumer, Client({0: 9}, polled_at=time.time()))

        with pytest.raises(ConsumerStuck, match="joining its group"):
            await watchdog()

    async def test_leaves_a_consumer_alone_that_fetches(self) -> None:
        consumer = a_working_consumer()
        consumer.joining_since, consumer.received_at = None, -AN_HOUR_AGO
        watchdog = self.watchdog(consumer, Client({0: 9}, polled_at=time.time()))

        await watchdog()

        assert watchdog.unpolled_consumers() == {}

    @pytest.mark.fault("K17")
    async def test_k17_ends_the_process_of_a_consumer_that_finds_no_offsets(self) -> None:
        consumer = a_working_consumer()
        consumer.joining_since, consumer.received_at = None, -AN_HOUR_AGO
        watchdog = self.watchdog(consumer, Client({0: 9}), stuck_after=timedelta(0))

        assert watchdog.unpolled_consumers() == {NOTES.name: "finding its offsets"}
        with pytest.raises(ConsumerStuck, match="finding its offsets"):
            await watchdog()

    async def test_leaves_a_consumer_alone_that_gets_partitions_after_a_pause(self) -> None:
        consumer = a_working_consumer()
        consumer.joining_since, consumer.received_at = None, -AN_HOUR_AGO
        watchdog = self.watchdog(consumer, Client({0: 9}, polled_at=time.time()))
        await watchdog()

        watchdog._watched[0].subscriber.consumer = Client({1: 9})  # as after a rebalance
        await watchdog()

        assert watchdog.unpolled_consumers() == {NOTES.name: "finding its offsets"}

    @pytest.mark.fault("K17")
    async def test_k17_partitions_that_change_while_none_is_polled_count_as_one_silence(
        self,
    ) -> None:
        consumer = a_working_consumer()
        consumer.joining_since, consumer.received_at = None, -AN_HOUR_AGO
        watchdog = self.watchdog(consumer, Client({0: 9}), stuck_after=timedelta(minutes=1))
        await watchdog()
        watched = watchdog._watched[0]
        assert watched.unpolled_since is not None
        watched.unpolled_since -= AN_HOUR_AGO

        watched.subscriber.consumer = Client({1: 9})

        with pytest.raises(ConsumerStuck, match="finding its offsets"):
            await watchdog()

    @pytest.mark.fault("K17")
    async def test_k17_ends_the_process_of_a_consumer_that_fetches_and_returns_nothing(
        self,
    ) -> None:
        consumer = a_working_consumer()
        await consumer.receive([a_record(version=4)])
        consumer.joining_since, consumer.received_at = None, -AN_HOUR_AGO
        client = Client({0: 9}, polled_at=time.time())
        watchdog = self.watchdog(consumer, client, stuck_after=timedelta(0))

        with pytest.raises(ConsumerStuck, match="fetching"):
            await watchdog()

    async def test_leaves_a_consumer_alone_whose_first_message_after_a_pause_is_unread(
        self,
    ) -> None:
        consumer = a_working_consumer()
        await consumer.receive([a_record(version=4)])
        consumer.joining_since, consumer.received_at = None, -AN_HOUR_AGO
        client = Client({0: 5}, polled_at=time.time())
        watchdog = self.watchdog(consumer, client)
        await watchdog()

        client.ends[0] = 6
        await watchdog()

        assert watchdog.problems() == {}

    async def test_leaves_a_consumer_alone_that_joins_while_leaders_are_looked_up(self) -> None:
        consumer = a_working_consumer()
        consumer.joining_since = time.monotonic() - AN_HOUR_AGO

        async def has_leaders(_: str) -> bool:
            consumer.joining_since = None  # the group admits the consumer meanwhile
            return True

        client = Client({0: 9}, polled_at=time.time())
        watchdog = Watchdog(
            [(consumer, SimpleNamespace(consumer=client))],
            stuck_after=timedelta(minutes=1),
            has_leaders=has_leaders,
        )
        watchdog.restart_silence_count(seconds=-AN_HOUR_AGO)

        await watchdog()

        assert watchdog.problems() == {}

    @pytest.mark.fault("K17")
    async def test_k17_a_topic_without_leaders_does_not_excuse_another(self) -> None:
        leaderless, stuck = a_working_consumer(), a_working_consumer()
        for consumer in (leaderless, stuck):
            consumer.joining_since = time.monotonic() - AN_HOUR_AGO
        led = iter([False, True])

        async def has_leaders(_: str) -> bool:
            return next(led)

        watchdog = Watchdog(
            [(leaderless, NOT_RUNNING), (stuck, NOT_RUNNING)],
            stuck_after=timedelta(minutes=1),
            has_leaders=has_leaders,
        )
        watchdog.restart_silence_count(seconds=-AN_HOUR_AGO)
        await watchdog()

        with pytest.raises(ConsumerStuck):
            await watchdog()

    @pytest.mark.fault("K17")
    async def test_k17_repeated_starts_count_as_one_silence(self) -> None:
        consumer = a_working_consumer()
        assert consumer.joining_since is not None
        first_attempt = consumer.joining_since = consumer.joining_since - AN_HOUR_AGO

        consumer.begin_joining()

        assert consumer.joining_since == first_attempt

    async def test_leaves_a_consumer_alone_when_others_have_all_partitions(self) -> None:
        consumer = a_working_consumer()
        consumer.joining_since, consumer.received_at = None, -AN_HOUR_AGO
        watchdog = self.watchdog(consumer, Client({}))

        await watchdog()

        assert watchdog.unpolled_consumers() == {}
        assert watchdog.unassigned_consumers() == {NOTES.name: "no partition assigned"}


@dataclass(frozen=True)
class Client:
    """Replaces aiokafka's consumer: its partitions, with their ends."""

    ends: dict[int, int]
    polled_at: float | None = None

    def assignment(self) -> set[TopicPartition]:
        return {TopicPartition("notes", partition) for partition in self.ends}

    def highwater(self, partition: TopicPartition) -> int:
        return self.ends[partition.partition]

    def last_poll_timestamp(self, _: TopicPartition) -> int | None:
        return None if self.polled_at is None else int(self.polled_at * 1000)


class TestLag:
    """The number of messages after the last handled one."""

    @staticmethod
    async def measured(consumer: Consumer[Note], ends: dict[int, int]) -> float | None:
        subscriber = SimpleNamespace(consumer=Client(ends))

        async def has_leaders(_: str) -> bool:
            return True

        watchdog = Watchdog(
            [(consumer, subscriber)], stuck_after=timedelta(hours=1), has_leaders=has_leaders
        )
        await watchdog()
        labels = {"topic": NOTES.name}
        return REGISTRY.get_sample_value("swap_consumer_lag_messages", labels)

    async def test_counts_what_kafka_has_after_the_last_handled_message(self) -> None:
        consumer = a_working_consumer()
        await consumer.receive([a_record(version=4), a_record(version=5)])

        assert await self.measured(consumer, {0: 9}) == 3
        await consumer.receive([a_record(version=8)])
        assert await self.measured(consumer, {0: 9}) == 0

    async def test_counts_a_batch_that_cannot_be_handled(self) -> None:
        consumer = a_consumer()
        with pytest.raises(TooManyParked):
            await consumer.receive([a_record(version=4)])
        consumer.has_stopped = False

        assert await self.measured(consumer, {0: 9}) == 5

    async def test_drops_a_partition_that_another_process_took(self) -> None:
        consumer = a_working_consumer()
        await consumer.receive([a_record(version=4)])

        assert await self.measured(consumer, {1: 3}) == 0
        assert await self.measured(consumer, {0: 900}) == 0
