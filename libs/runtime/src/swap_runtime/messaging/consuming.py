"""How every service consumes a topic: batches of bytes, at least once.

A new consumer begins at the earliest offset. A message that cannot be decoded or processed is
parked: stored for an operator (`parking.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from aiokafka.abc import ConsumerRebalanceListener  # type: ignore[import-untyped]
from faststream import AckPolicy
from faststream.exceptions import StopConsume
from faststream.kafka import KafkaBroker, KafkaMessage
from faststream.security import BaseSecurity, SASLPlaintext, SASLScram512

from swap_contracts.envelope import Body, Topic
from swap_runtime.errors import Unavailable
from swap_runtime.loop_pacing import LoopPacing
from swap_runtime.messaging.batches import PARKED, Batches, TooManyParked, UseCase
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.parking import Parking
from swap_runtime.messaging.quarantine import UNVERIFIED
from swap_runtime.messaging.records import Position, Record
from swap_runtime.settings import KafkaSettings
from swap_runtime.telemetry.logging import use_json_output
from swap_runtime.telemetry.metrics import begin_at_zero

RETRY_PAUSE_SECONDS: Final = 1
RECORDS_MAX: Final = 500
# How long a poll without messages takes, and how long FastStream sleeps after it.
POLL_MS: Final = 100
SHORT_POLL_MS: Final = 20
# A batch that takes longer to stop is cancelled and delivered again.
STOP_SECONDS: Final = 5
# How long a group waits for members that do not join again.
REBALANCE_MS: Final = 10_000
# How old a client's metadata of a topic may be. A group that was formed before its leader had the
# topic's metadata has no partitions, until the leader has fetched the metadata again.
METADATA_MAX_AGE_MS: Final = 15_000
BIGINT_MAX: Final = 2**63 - 1
log = structlog.get_logger()


class Subscriptions:
    """Everything a process consumes."""

    def __init__(self, kafka: KafkaSettings, broker: KafkaBroker | None = None) -> None:
        self.kafka = kafka
        self.broker = broker or build_broker(kafka)
        self.consumers: list[tuple[Consumer[Any], Any]] = []  # with FastStream's subscriber

    async def start(self) -> None:
        """Join the groups; returns once each has assigned partitions, or none."""
        for consumer, _ in self.consumers:
            consumer.begin_joining()
        await self.broker.start()


def build_broker(kafka: KafkaSettings) -> KafkaBroker:
    """Return a broker for consuming. Nothing is published through it: see `producing.py`."""
    return KafkaBroker(
        kafka.bootstrap_servers.split(","),
        allow_auto_create_topics=False,
        metadata_max_age_ms=METADATA_MAX_AGE_MS,
        # A response that is lost stops a consumer for so long: by default, for 40 seconds.
        request_timeout_ms=kafka.session_timeout_ms + REBALANCE_MS,
        graceful_timeout=STOP_SECONDS,
        # Injection would resolve the arguments of each batch in a thread, and wait for it.
        apply_types=False,
        logger=_logger(),
        security=_security(kafka),
    )


def consume(
    to: Subscriptions,
    topic: Topic[Body],
    *,
    consumer_name: str,
    usecase: UseCase[Body],
    parking: Parking,
    pause: timedelta = timedelta(milliseconds=100),
) -> None:
    """Subscribe a use case to a topic.

    `sweep.py` hands the same use case the messages that Kafka does not deliver, from the senders'
    outboxes. FastStream's defaults lose messages, so each option is set. The defaults acknowledge
    before the handler runs, start at the newest offset, and decode before a message can be parked.

    :param consumer_name: the name in the inbox. Its Kafka group is of this topic alone, so
        that a rebalance of one topic does not stop the others.
    :param pause: after each batch that is not full, longer under load, so that batches are few and
        large. Zero where a payout waits.
    """
    for failures in (PARKED, UNVERIFIED):
        begin_at_zero(failures, [topic.name])
    batches = Batches(topic, usecase, parking, consumer=consumer_name)
    consumer = Consumer(topic, consumer_name, batches)
    subscriber = to.broker.subscriber(
        topic.name,
        group_id=f"{consumer_name}.{topic.name}",
        batch=True,
        max_records=RECORDS_MAX,
        batch_timeout_ms=POLL_MS if pause else SHORT_POLL_MS,
        auto_offset_reset="earliest",
        ack_policy=AckPolicy.NACK_ON_ERROR,
        listener=_Membership(consumer),
        no_reply=True,  # a header of the sender would name the topic of a reply
        parser=_parse,
        decoder=_decode,
        session_timeout_ms=to.kafka.session_timeout_ms,
        heartbeat_interval_ms=to.kafka.heartbeat_interval_ms,
        rebalance_timeout_ms=REBALANCE_MS,
        fetch_max_wait_ms=to.kafka.fetch_max_wait_ms,
    )

    pacing = LoopPacing(pause)

    @subscriber
    async def on_batch(records: Sequence[Record]) -> None:
        pacing.begin()
        with _paused_fetching(subscriber.consumer):
            try:
                await consumer.receive(records)
            except Unavailable as error:
                log.warning("batch waits for a dependency", topic=topic.name, reason=str(error))
                await asyncio.sleep(RETRY_PAUSE_SECONDS)  # the nack seeks back at once
                raise
            except TooManyParked as error:
                raise StopConsume from error  # not acknowledged; the watchdog ends the process
            if len(records) < RECORDS_MAX:
                await pacing.pause(len(records))

    to.consumers.append((consumer, subscriber))


class _Membership(ConsumerRebalanceListener):  # type: ignore[misc]
    """Notes on a consumer whether its group has admitted it."""

    def __init__(self, consumer: Consumer[Any]) -> None:
        self._consumer = consumer

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._consumer.begin_joining()

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._consumer.joining_since = None
        self._consumer.next_offsets.clear()  # another process may have gone on meanwhile


@contextmanager
def _paused_fetching(client: Any) -> Iterator[None]:
    """Fetch nothing while a batch is handled, so that the next batch is large.

    Otherwise aiokafka fetches the first few messages that arrive meanwhile, and the next poll
    returns only these.

    :param client: aiokafka's consumer; FastStream's test broker has none.
    """
    if client is None:
        yield
        return
    client.pause(*client.assignment())
    try:
        yield
    finally:
        client.resume(*client.paused())


def _security(kafka: KafkaSettings) -> BaseSecurity:
    """Return `connection_options` in FastStream's form."""
    options = connection_options(kafka)
    tls: dict[str, Any] = {"ssl_context": options.get("ssl_context")}
    if not kafka.uses_sasl:
        return BaseSecurity(**tls)
    kind = SASLPlaintext if kafka.sasl_mechanism == "PLAIN" else SASLScram512
    return kind(options["sasl_plain_username"], options["sasl_plain_password"], **tls)


def _logger() -> logging.Logger:
    """Return a logger for FastStream without INFO, which would log every message."""
    logger = logging.getLogger("faststream")
    logger.setLevel(logging.WARNING)
    use_json_output(logger)
    return logger


async def _parse(
    records: tuple[Any, ...], parse: Callable[[tuple[Any, ...]], Awaitable[KafkaMessage]]
) -> KafkaMessage:
    """Leave out headers that are no text: FastStream decodes all, and would fail the batch."""
    try:
        return await parse(records)
    except (UnicodeDecodeError, AttributeError):  # not UTF-8, or null
        return await parse(tuple(_with_text_headers(record) for record in records))


def _with_text_headers(record: Any) -> Any:
    return replace(record, headers=tuple(each for each in record.headers if _is_text(each[1])))


def _is_text(value: bytes | None) -> bool:
    try:
        return value is not None and value.decode() is not None
    except UnicodeDecodeError:
        return False


async def _decode(message: KafkaMessage) -> Sequence[Record]:
    """Return the bytes as they came: the consumer parks what it cannot read."""
    records: Any = message.raw_message
    return [_record(record) for record in records]


def _record(raw: Any) -> Record:
    headers = dict(raw.headers or ())
    return Record(
        raw.topic,
        raw.partition,
        raw.offset,
        raw.key or b"",
        raw.value or b"",
        _message_id(headers.get("message_id")),
        _position(headers.get("outbox")),
    )


def _message_id(header: bytes | None) -> UUID | None:
    try:
        return UUID(header.decode()) if header else None
    except ValueError:
        return None


def _position(header: bytes | None) -> Position | None:
    """Read the outbox position `source/xid/id`, as `relay.py` writes it; None for other text."""
    try:
        source, xid, id_ = (header or b"").decode().split("/")
        position = Position(source, int(xid), int(id_))
    except ValueError:
        return None
    is_storable = 0 <= position.id <= BIGINT_MAX and 0 <= position.xid <= BIGINT_MAX
    return position if is_storable else None
