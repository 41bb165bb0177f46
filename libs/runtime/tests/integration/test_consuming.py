"""Delivery on a broker with Kafka's protocol, by FastStream as the services use it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from faststream import AckPolicy

from libs.runtime.tests.fakes import (
    FakeParking,
    KeepNotes,
    Note,
    a_note,
    a_parking,
    decide,
    outgoing,
)
from swap_contracts.envelope import Envelope, Topic
from swap_runtime.errors import Unavailable
from swap_runtime.messaging.batches import UseCase
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.outbox import Outgoing
from swap_runtime.messaging.parked_routes import ParkedRoutes
from swap_runtime.messaging.parking import Parking
from swap_runtime.messaging.producing import KafkaProducer
from swap_runtime.messaging.relay import Outbound, Relay
from swap_runtime.messaging.topics import ensure_topics, has_leaders
from swap_runtime.messaging.watchdog import ConsumerStuck, Watchdog
from swap_runtime.postgres.database import Engine
from swap_runtime.settings import KafkaSettings
from tests.plugins.broker import Broker
from tests.plugins.kafka_proxy import Api, kafka_proxy
from tests.support.waiting import until

pytestmark = pytest.mark.connected
WITHIN_SECONDS = 30
OTHERS = 50
TRIES_ALONE = 2  # of a single message
UNCOMMITTED_SECONDS = 1.0  # longer than a commit beside the handler would need
STOP_WITHIN_SECONDS = 20


@pytest.fixture
async def topic(broker: Broker) -> Topic[Note]:
    """A topic of this test only."""
    name = f"notes.{uuid4().hex}"
    await ensure_topics(broker.settings, [name])
    return Topic(name, Envelope[Note], lambda note: note.thing)


@asynccontextmanager
async def consuming(
    kafka: KafkaSettings, topic: Topic[Note], usecase: UseCase[Note], parking: Parking
) -> AsyncIterator[Subscriptions]:
    subscriptions = Subscriptions(kafka)
    consume(subscriptions, topic, consumer_name="test", usecase=usecase, parking=parking)
    try:
        await subscriptions.broker.start()
        yield subscriptions
    finally:
        await subscriptions.broker.stop()


async def publish(kafka: KafkaSettings, topic: Topic[Note], *values: bytes) -> None:
    await send(kafka, [Outbound(topic.name, b"k", value, ()) for value in values])


async def publish_to_every_partition(kafka: KafkaSettings, topic: Topic[Note]) -> list[str]:
    """Publish notes of enough keys to fill every partition; return their things."""
    things = [f"{n}" for n in range(100)]
    notes = [(thing.encode(), in_bytes(a_note(thing))) for thing in things]
    await send(kafka, [Outbound(topic.name, key, value, ()) for key, value in notes])
    return things


async def send(kafka: KafkaSettings, messages: Sequence[Outbound]) -> None:
    producer = KafkaProducer(kafka)
    await producer.publish(messages)
    await producer.discard()


def in_bytes(note: Envelope[Note]) -> bytes:
    return note.model_dump_json().encode()


class TestConsume:
    @pytest.mark.fault("K15")
    def test_every_subscriber_is_at_least_once_in_batches(self, broker: Broker) -> None:
        subscriptions = Subscriptions(broker.settings)
        topic = Topic("t", Envelope[Note], lambda note: note.thing)

        async def usecase(_: Sequence[Envelope[Note]]) -> None: ...

        consume(subscriptions, topic, consumer_name="test", usecase=usecase, parking=FakeParking())

        (subscriber,) = (any_of for _, any_of in subscriptions.consumers)
        assert subscriber.ack_policy is AckPolicy.NACK_ON_ERROR
        assert [topic.name for topic in subscriber.topics] == ["t"]
        assert subscriber.group_id == "test.t"
        arguments = subscriber._connection_args
        assert arguments["enable_auto_commit"] is False
        assert arguments["auto_offset_reset"] == "earliest"
        assert arguments["session_timeout_ms"] == broker.settings.session_timeout_ms

    async def test_published_messages_reach_the_use_case_in_order(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes = KeepNotes(engine)
        relay = Relay(engine, KafkaProducer(broker.settings), holder="a")
        sealed = [a_note(version=n) for n in range(1, 51)]
        await decide(engine, *(Outgoing.of(topic, note) for note in sealed))

        async with consuming(broker.settings, topic, notes, a_parking(engine, topic=topic)):
            assert await relay.publish_batch() == 50
            await until(lambda: _has(notes, 50))

        await relay.stop()
        assert await notes.stored_notes() == [("a", n) for n in range(1, 51)]

    async def test_messages_received_during_a_batch_are_the_next_batch(
        self, broker: Broker, topic: Topic[Note]
    ) -> None:
        may_end, sizes = asyncio.Event(), list[int]()

        async def slow(messages: Sequence[Envelope[Note]]) -> None:
            sizes.append(len(messages))
            await may_end.wait()

        await publish(broker.settings, topic, in_bytes(a_note()))
        async with consuming(broker.settings, topic, slow, FakeParking()):
            await until(lambda: _is(bool(sizes)))
            others = await publish_to_every_partition(broker.settings, topic)
            may_end.set()
            await until(lambda: _is(len(sizes) > 1))

        assert sizes == [1, len(others)]

    async def test_messages_are_delivered_again_after_a_failed_batch(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes, failures = KeepNotes(engine), 1

        async def fails_once(messages: Sequence[Envelope[Note]]) -> None:
            nonlocal failures
            if failures:
                failures -= 1
                raise Unavailable("postgres")
            await notes(messages)

        others = await publish_to_every_partition(broker.settings, topic)
        async with consuming(broker.settings, topic, fails_once, FakeParking()) as subscriptions:
            await until(lambda: _has(notes, len(others)))
            await until(lambda: _has_committed(subscriptions, len(others)))

    @pytest.mark.fault("K6", "K15")
    async def test_k6_failing_handler_loses_no_message_and_blocks_no_partition(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes, parking = KeepNotes(engine), FakeParking()
        notes.poison.add("poison")
        poison, behind = in_bytes(a_note("poison")), in_bytes(a_note("poison", version=2))
        await publish(broker.settings, topic, poison, behind)
        others = await publish_to_every_partition(broker.settings, topic)

        async with consuming(broker.settings, topic, notes, parking):
            await until(lambda: _has(notes, len(others)))
            await until(lambda: _is(len(parking.parked) >= 2))

        assert sorted(await notes.stored_notes()) == sorted((thing, 1) for thing in others)
        assert {value for value, _ in parking.parked} == {poison, behind}

    @pytest.mark.fault("K7")
    async def test_k7_invalid_message_is_parked_and_its_partition_continues(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes, parking = KeepNotes(engine), FakeParking()
        await publish(broker.settings, topic, b"\xff{")
        others = await publish_to_every_partition(broker.settings, topic)

        async with consuming(broker.settings, topic, notes, parking):
            await until(lambda: _has(notes, len(others)))
            await until(lambda: _is(bool(parking.parked)))

        assert {value for value, _ in parking.parked} == {b"\xff{"}

    @pytest.mark.fault("K7")
    @pytest.mark.parametrize("odd", [b"\xff", None])
    async def test_k7_message_with_a_binary_header_is_handled(
        self, broker: Broker, engine: Engine, topic: Topic[Note], odd: bytes | None
    ) -> None:
        notes, headers = KeepNotes(engine), [("odd", odd)]
        async with AIOKafkaProducer(bootstrap_servers=broker.settings.bootstrap_servers) as one:
            await one.send_and_wait(topic.name, in_bytes(a_note()), key=b"k", headers=headers)

        async with consuming(broker.settings, topic, notes, FakeParking()):
            await until(lambda: _has(notes, 1))

    async def test_a_header_of_the_sender_makes_no_reply(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes, name = KeepNotes(engine), topic.name.encode()
        asks = [Outbound(topic.name, b"k", in_bytes(a_note()), [("reply_to", name)])]
        await send(broker.settings, asks)

        async with consuming(broker.settings, topic, notes, FakeParking()) as subscriptions:
            await until(lambda: _has_committed(subscriptions, 1))

            assert _end(subscriptions) == 1

    @pytest.mark.fault("K8")
    async def test_k8_what_fails_each_time_is_parked_and_not_delivered_again(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        """Its offset is committed, so no consumer of its group receives it again."""
        notes, parking = KeepNotes(engine), a_parking(engine, topic=topic)
        relay = Relay(engine, KafkaProducer(broker.settings), holder="a")
        notes.poison.add("poison")
        tries = 0

        async def count_tries(messages: Sequence[Envelope[Note]]) -> None:
            nonlocal tries
            tries += any(message.body.thing == "poison" for message in messages)
            await notes(messages)

        async def publish_others(first: int) -> None:
            """Publish more notes to every partition."""
            await decide(
                engine, *(Outgoing.of(topic, a_note(f"{first + n}")) for n in range(OTHERS))
            )
            assert await relay.publish_batch() == OTHERS

        await decide(engine, Outgoing.of(topic, a_note("poison")))
        async with consuming(broker.settings, topic, count_tries, parking) as consumer:
            assert await relay.publish_batch() == 1
            await until(lambda: _has_committed(consumer, 1))
            await publish_others(0)
            await until(lambda: _has_committed(consumer, 1 + OTHERS))
        async with consuming(broker.settings, topic, count_tries, parking):
            await publish_others(OTHERS)
            await until(lambda: _has(notes, 2 * OTHERS))

        assert tries == TRIES_ALONE
        await relay.stop()
        [parked] = await ParkedRoutes(engine).list_parked(state=None, topic=topic.name)
        assert (parked["state"], parked["reason"]) == ("parked", "ValueError: poison")

    @pytest.mark.fault("K9")
    async def test_k9_a_batch_that_is_delivered_again_acts_once(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes = KeepNotes(engine)
        answers_lost = 2

        async def commit_and_lose_the_answer(messages: Sequence[Envelope[Note]]) -> None:
            nonlocal answers_lost
            await notes(messages)
            if answers_lost:
                answers_lost -= 1
                raise Unavailable("the answer to COMMIT")

        await publish(broker.settings, topic, *(in_bytes(a_note(version=n)) for n in (1, 2)))
        async with consuming(broker.settings, topic, commit_and_lose_the_answer, FakeParking()):
            await until(lambda: _is(answers_lost == 0 and notes.calls >= 3))

        assert await notes.stored_notes() == [("a", 1), ("a", 2)]

    @pytest.mark.fault("K10")
    async def test_k10_a_second_consumer_joins_while_a_handler_runs(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes, may_end, runs = KeepNotes(engine), asyncio.Event(), asyncio.Event()

        async def slow(messages: Sequence[Envelope[Note]]) -> None:
            runs.set()
            await may_end.wait()
            await notes(messages)

        await publish(broker.settings, topic, *(in_bytes(a_note(f"{n}")) for n in range(20)))
        async with consuming(broker.settings, topic, slow, FakeParking()) as first:
            await asyncio.wait_for(runs.wait(), WITHIN_SECONDS)
            async with consuming(broker.settings, topic, notes, FakeParking()) as second:
                await until(lambda: _is(_partitions(second) > 0))
                may_end.set()
                await until(lambda: _has(notes, 20))
                await until(lambda: _is(_partitions(first) + _partitions(second) == 12))

        assert sorted(await notes.stored_notes()) == sorted((f"{n}", 1) for n in range(20))

    @pytest.mark.fault("K15")
    async def test_k15_offsets_are_committed_after_the_transaction_and_not_before(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes, may_end, runs = KeepNotes(engine), asyncio.Event(), asyncio.Event()

        async def slow(messages: Sequence[Envelope[Note]]) -> None:
            runs.set()
            await may_end.wait()
            await notes(messages)

        await publish(broker.settings, topic, in_bytes(a_note()))
        async with consuming(broker.settings, topic, slow, FakeParking()) as subscriptions:
            await asyncio.wait_for(runs.wait(), WITHIN_SECONDS)
            await asyncio.sleep(UNCOMMITTED_SECONDS)
            assert await _has_committed(subscriptions, 0)
            may_end.set()
            await until(lambda: _has_committed(subscriptions, 1))

        assert await notes.stored_notes() == [("a", 1)]

    async def test_a_stop_lets_the_running_batch_end_and_commits_its_offset(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        notes, runs, delivered = KeepNotes(engine), asyncio.Event(), 0

        async def slow(messages: Sequence[Envelope[Note]]) -> None:
            nonlocal delivered
            delivered += len(messages)
            runs.set()
            await asyncio.sleep(UNCOMMITTED_SECONDS)
            await notes(messages)

        await publish(broker.settings, topic, in_bytes(a_note()))
        async with consuming(broker.settings, topic, slow, FakeParking()):
            await asyncio.wait_for(runs.wait(), WITHIN_SECONDS)
        assert await notes.stored_notes() == [("a", 1)]

        await publish(broker.settings, topic, in_bytes(a_note(version=2)))
        async with consuming(broker.settings, topic, slow, FakeParking()):
            await until(lambda: _has(notes, 2))

        assert delivered == 2

    async def test_a_stop_does_not_wait_for_a_broker_that_is_away(
        self, broker: Broker, engine: Engine, topic: Topic[Note]
    ) -> None:
        """The offset of the running batch cannot be committed; its inbox marks are."""
        notes, may_end, runs = KeepNotes(engine), asyncio.Event(), asyncio.Event()

        async def slow(messages: Sequence[Envelope[Note]]) -> None:
            runs.set()
            await may_end.wait()
            await notes(messages)

        await publish(broker.settings, topic, in_bytes(a_note()))
        try:
            async with asyncio.timeout(STOP_WITHIN_SECONDS):
                async with consuming(broker.settings, topic, slow, FakeParking()):
                    await asyncio.wait_for(runs.wait(), WITHIN_SECONDS)
                    broker.program.kill()
                    may_end.set()
        finally:
            broker.program.start()
            await until(lambda: _has_leaders_again(broker.settings, topic.name))

        assert await notes.stored_notes() == [("a", 1)]


class TestWatchdog:
    @pytest.mark.fault("K17")
    async def test_k17_detects_a_client_that_fetches_and_returns_no_messages(
        self, broker: Broker, topic: Topic[Note]
    ) -> None:
        """An unknown error ends aiokafka's heartbeat permanently; its fetches continue."""
        handled: list[Envelope[Note]] = []

        async def usecase(messages: Sequence[Envelope[Note]]) -> None:
            handled.extend(messages)

        async with (
            kafka_proxy(broker.settings) as (proxy, kafka),
            consuming(kafka, topic, usecase, FakeParking()) as subscriptions,
        ):
            watchdog = Watchdog(
                subscriptions.consumers,
                stuck_after=timedelta(seconds=5),
                has_leaders=lambda name: has_leaders(kafka, name),
            )
            await publish(kafka, topic, in_bytes(a_note()))
            await until(lambda: _is(len(handled) == 1))
            proxy.fail(Api.HEARTBEAT)
            await asyncio.sleep(kafka.session_timeout_ms / 1000)
            await publish(kafka, topic, in_bytes(a_note(version=2)))

            with pytest.raises(ConsumerStuck, match="fetching"):
                await until(watchdog)

        assert len(handled) == 1


class TestTopics:
    async def test_are_made_with_their_partitions_and_may_be_made_again(
        self, broker: Broker, topic: Topic[Note]
    ) -> None:
        # Kafka answers before its metadata are complete.
        await until(lambda: has_leaders(broker.settings, topic.name))
        made = await _count_partitions(broker.settings, topic.name)
        settings = broker.settings
        more = settings.model_copy(update={"topic_partitions": settings.topic_partitions + 1})

        await ensure_topics(more, [topic.name])

        assert made == settings.topic_partitions
        assert await _count_partitions(settings, topic.name) == made

    async def test_a_broker_that_is_away_has_none(self) -> None:
        assert not await has_leaders(KafkaSettings(bootstrap_servers="127.0.0.1:1"), "t")


class TestRelayWithoutItsBroker:
    @pytest.mark.fault("K13")
    async def test_k13_rows_wait_while_no_broker_answers(self, engine: Engine) -> None:
        nowhere = KafkaSettings(bootstrap_servers="127.0.0.1:1")
        await decide(engine, outgoing())

        assert await Relay(engine, KafkaProducer(nowhere), holder="a")() is False


async def _has(notes: KeepNotes, number: int) -> bool:
    return len(await notes.stored_notes()) >= number


async def _is(value: bool) -> bool:
    return value


async def _has_committed(subscriptions: Subscriptions, number: int) -> bool:
    client = subscriptions.consumers[0][1].consumer
    return sum([await client.committed(one) or 0 for one in client.assignment()]) == number


async def _count_partitions(kafka: KafkaSettings, topic: str) -> int:
    admin = AIOKafkaAdminClient(**connection_options(kafka))
    await admin.start()
    try:
        # Of all topics: some brokers make a topic that is asked for by its name.
        topics = {one["topic"]: one["partitions"] for one in await admin.describe_topics()}
    finally:
        await admin.close()
    return len(topics[topic])


async def _has_leaders_again(kafka: KafkaSettings, topic: str) -> bool:
    """Recreate the topic, which the embedded broker does not store; return if it has leaders."""
    try:
        await ensure_topics(kafka, [topic])
    except Exception:
        return False
    return await has_leaders(kafka, topic)


def _end(subscriptions: Subscriptions) -> int:
    """Return the number of messages in the topic, as its consumer reports it."""
    client: Any = subscriptions.consumers[0][1].consumer
    return sum(client.highwater(partition) or 0 for partition in client.assignment())


def _partitions(subscriptions: Subscriptions) -> int:
    client: Any = subscriptions.consumers[0][1].consumer
    return len(client.assignment())
