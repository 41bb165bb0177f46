"""The behaviour of a producer: one suite for the fake and for Kafka's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError

from libs.runtime.tests.fakes import FakeProducer
from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.producing import KafkaProducer
from swap_runtime.messaging.relay import Outbound, Producer
from swap_runtime.postgres.database import Engine, TransactionOpen, transaction
from tests.plugins.broker import Broker

pytestmark = pytest.mark.connected
HEADERS = (("message_id", b"1"), ("outbox", b"settler/7/1"))
LIMIT_BYTES = 1_048_588  # Apache Kafka's default
LARGE = b"large"  # a key of messages that are too large


@dataclass
class Subject:
    producer: Producer
    topic: str
    delivered: Callable[[int], Awaitable[list[Outbound]]]  # at least this many
    fail: Callable[[], None]  # until it is recovered
    recover: Callable[[], None]

    def message(self, key: bytes, value: bytes = b"{}") -> Outbound:
        return Outbound(self.topic, key, value, HEADERS)


def fake_subject() -> Subject:
    producer = FakeProducer(too_large=LARGE)

    async def delivered(_: int) -> list[Outbound]:
        return producer.messages

    def fail() -> None:
        producer.lost = b"lost"

    return Subject(producer, "notes.v1", delivered, fail, lambda: None)


async def read(broker: Broker, topic: str, count: int) -> list[Outbound]:
    options = connection_options(broker.settings)
    consumer = AIOKafkaConsumer(topic, **options, auto_offset_reset="earliest", group_id=None)
    await consumer.start()
    try:
        found: list[Outbound] = []
        while len(found) < count:
            record = await consumer.getone()
            found.append(Outbound(topic, record.key, record.value, record.headers))
        return found
    finally:
        await consumer.stop()


def limit_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse what Apache Kafka refuses: the embedded broker accepts batches of any size."""
    send_batch = AIOKafkaProducer.send_batch

    async def limited(
        self: AIOKafkaProducer, batch: Any, topic: str, *, partition: int
    ) -> Awaitable[object]:
        if batch.size() <= LIMIT_BYTES:
            sent: Awaitable[object] = await send_batch(self, batch, topic, partition=partition)
            return sent
        refused = asyncio.get_running_loop().create_future()
        refused.set_exception(MessageSizeTooLargeError())
        return refused

    monkeypatch.setattr(AIOKafkaProducer, "send_batch", limited)


@pytest.fixture(params=["fake", "kafka"])
async def subject(request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    if request.param == "fake":
        yield fake_subject()
        return
    broker: Broker = request.getfixturevalue("broker")
    if broker.forgets:
        limit_batches(request.getfixturevalue("monkeypatch"))
    topic = f"notes.{uuid4().hex}"
    producer = KafkaProducer(broker.settings, [topic])
    yield Subject(
        producer,
        topic,
        lambda count: read(broker, topic, count),
        broker.program.stop,
        broker.program.start,
    )
    await producer.discard()


async def test_delivers_with_headers_and_in_order_within_a_key(subject: Subject) -> None:
    sent = [
        subject.message(key, value) for key, value in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    ]

    assert list(await subject.producer.publish(sent)) == []

    delivered = await subject.delivered(3)
    assert len(delivered) == 3
    assert [one.value for one in delivered if one.key == b"a"] == [b"1", b"3"]
    assert {tuple(one.headers) for one in delivered} == {HEADERS}


async def test_producer_returns_too_large_messages_and_delivers_the_others(
    subject: Subject,
) -> None:
    large = subject.message(LARGE, b"x" * 3_000_000)
    sent = [subject.message(b"a"), large, subject.message(b"b")]

    assert list(await subject.producer.publish(sent)) == [large]
    assert {one.key for one in await subject.delivered(2)} == {b"a", b"b"}


async def test_delivers_again_once_it_was_discarded_after_a_failure(subject: Subject) -> None:
    first, lost = subject.message(b"a"), subject.message(b"lost")
    await subject.producer.publish([first])
    subject.fail()
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever it is, what arrived is unknown
        await subject.producer.publish([first, lost])
    subject.recover()

    await subject.producer.discard()
    assert list(await subject.producer.publish([first, lost])) == []

    assert {one.key for one in await subject.delivered(2)} == {b"a", b"lost"}


async def test_refuses_to_publish_while_a_transaction_is_open(
    subject: Subject, engine: Engine
) -> None:
    await subject.producer.publish([subject.message(b"a")])

    async with transaction(engine):
        with pytest.raises(TransactionOpen):
            await subject.producer.publish([subject.message(b"b")])


async def test_unused_producer_delivers_after_it_was_discarded(subject: Subject) -> None:
    await subject.producer.discard()

    assert list(await subject.producer.publish([subject.message(b"a")])) == []
    assert [one.key for one in await subject.delivered(1)] == [b"a"]
