"""The services' Kafka clients on Apache Kafka with TLS, SCRAM and the ACLs of deploy/kafka."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from aiokafka.errors import (  # type: ignore[import-untyped]
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
)
from pydantic import SecretStr

from libs.runtime.tests.fakes import FakeParking, Note, a_note
from swap_contracts.envelope import Envelope, Topic
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.producing import KafkaProducer
from swap_runtime.messaging.relay import Outbound
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_runtime.messaging.topics import ensure_topics, has_leaders
from swap_runtime.settings import KafkaSettings
from swap_stack.keys import PRINCIPALS
from swap_stack.parts.broker import choose_broker, make_broker
from swap_stack.parts.kafka import Kafka, unavailable_reason
from swap_stack.places import Places, default_places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

NOTES = Topic("deposit.changed.v1", Envelope[Note], lambda note: note.thing)
SENT = frozenset(topic for topic, source in OUTBOX_SCHEMAS.items() if source == "chain_watcher")
WITHIN_SECONDS = 30
NO_LOGIN = {"security_protocol": "PLAINTEXT", "username": "", "password": SecretStr("")}


def may_be_left_out() -> bool:
    """In CI with Java and Maven it may not: a missing jar is then a failure of the fixture."""
    is_expected = os.environ.get("CI") == "true" and all(map(shutil.which, ("java", "mvn")))
    return not is_expected and unavailable_reason(default_places()) is not None


pytestmark = [
    pytest.mark.slow,  # a broker on the JVM starts, and starts again
    pytest.mark.connected,
    pytest.mark.timeout(180),
    pytest.mark.skipif(may_be_left_out(), reason="Apache Kafka cannot run here"),
]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    places = Places(tmp_path_factory.mktemp("stack"), default_places().root)
    registry = Registry(places.processes_file)
    passwords = {name: secrets.token_urlsafe(8) for name in PRINCIPALS}
    choice = choose_broker("kafka", places, "scram")
    part = make_broker(choice, places, Ports(places.ports_file), registry, passwords)
    assert isinstance(part, Kafka)
    try:
        asyncio.run(started(part))
        yield part
    finally:  # also of a broker that was not ready in time
        asyncio.run(part.stop())


async def started(part: Kafka) -> None:
    await part.start()
    await part.ready()


async def send(kafka: KafkaSettings, *notes: Envelope[Note]) -> None:
    producer = KafkaProducer(kafka, SENT)
    messages = [Outbound(NOTES.name, b"k", note.model_dump_json().encode(), ()) for note in notes]
    try:
        await producer.publish(messages)
    finally:
        await producer.discard()


async def is_received(kafka: KafkaSettings, group: str, note: Envelope[Note]) -> bool:
    """Return whether a consumer of this group gets the message; other tests send to the topic."""
    has_it = asyncio.Event()

    async def usecase(batch: Sequence[Envelope[Note]]) -> None:
        if note in batch:
            has_it.set()

    subscriptions = Subscriptions(kafka)
    consume(subscriptions, NOTES, consumer_name=group, usecase=usecase, parking=FakeParking())
    try:
        await subscriptions.broker.start()
        with suppress(TimeoutError):
            await asyncio.wait_for(has_it.wait(), WITHIN_SECONDS)
    finally:
        await subscriptions.broker.stop()
    return has_it.is_set()


async def test_a_message_reaches_the_service_that_may_read_it(kafka: Kafka) -> None:
    note = a_note("a")

    await send(kafka.client("chain_watcher"), note)

    assert await is_received(kafka.client("settler"), "settler", note)


async def test_topic_is_closed_to_other_services(kafka: Kafka) -> None:
    await ensure_topics(kafka.client("chain_watcher"), SENT)

    for other in ("api", "notifier", "quoter"):
        assert not await has_leaders(kafka.client(other), NOTES.name)
    assert await has_leaders(kafka.client("settler"), NOTES.name)
    with pytest.raises(TopicAuthorizationFailedError):
        await send(kafka.client("settler"), a_note("forged"))
    with pytest.raises(TopicAuthorizationFailedError):
        await ensure_topics(kafka.client("notifier"), ["deposit.invented.v1"])


@pytest.mark.parametrize(
    "change",
    [
        {"password": SecretStr("wrong")},
        {"security_protocol": "SASL_PLAINTEXT", "ca_file": None},
        {"ca_file": None},
        {**NO_LOGIN, "ca_file": None},
    ],
    ids=["another password", "no TLS", "an unknown authority", "no login"],
)
async def test_a_client_without_the_right_security_is_refused(
    kafka: Kafka, change: dict[str, object]
) -> None:
    client = kafka.client("settler").model_dump() | change

    with pytest.raises((KafkaError, KafkaConnectionError, OSError, TimeoutError)):
        await ensure_topics(KafkaSettings.model_validate(client))


async def test_the_certificate_is_replaced_while_clients_trust_both(
    kafka: Kafka, tmp_path: Path
) -> None:
    ca_file = kafka.client("settler").ca_file
    assert ca_file is not None
    only_former = tmp_path / "former.pem"
    shutil.copy(ca_file, only_former)

    await kafka.add_certificate()
    await send(kafka.client("chain_watcher"), a_note("before the restart"))
    await kafka.restart_with_added_certificate()
    await send(kafka.client("chain_watcher"), a_note("with both"))
    await kafka.remove_former_certificate()
    await send(kafka.client("chain_watcher"), a_note("with the new one"))

    assert ca_file.read_text().count("BEGIN CERTIFICATE") == 1
    assert ca_file.read_text() != only_former.read_text()
    outdated = kafka.client("settler").model_copy(update={"ca_file": only_former})
    with pytest.raises((KafkaError, KafkaConnectionError, OSError, TimeoutError)):
        await ensure_topics(outdated, SENT)
