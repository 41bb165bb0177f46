"""How every service reads a topic: in batches of bytes, from the start, at least once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from faststream import AckPolicy
from faststream.exceptions import StopConsume
from faststream.kafka import KafkaBroker, KafkaMessage
from faststream.message import AckStatus
from faststream.security import BaseSecurity, SASLPlaintext, SASLScram512

from swap_contracts.envelope import Body, Topic
from swap_runtime.errors import Unavailable
from swap_runtime.loop_pacing import LoopPacing
from swap_runtime.messaging.batches import Batches, TooManyParked, UseCase
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.parking import Parking
from swap_runtime.messaging.polling import RECORDS_MAX, Polling
from swap_runtime.messaging.records import Position, Record
from swap_runtime.settings import KafkaSettings
from swap_runtime.telemetry.logging import use_json_output

RETRY_PAUSE_SECONDS: Final = 1
BIGINT_MAX: Final = 2**63 - 1
log = structlog.get_logger()


class Subscriptions:
    """Everything a process consumes."""

    def __init__(self, kafka: KafkaSettings, broker: KafkaBroker | None = None) -> None:
        self.kafka = kafka
        self.broker = broker or build_broker(kafka)
        self.consumers: list[tuple[Consumer[Any], Any]] = []  # with FastStream's subscriber


def build_broker(kafka: KafkaSettings) -> KafkaBroker:
    """Return the broker with the settings that keep money."""
    return KafkaBroker(
        kafka.bootstrap_servers.split(","),
        acks="all",
        enable_idempotence=False,  # stops for good after some errors; inboxes drop copies
        allow_auto_create_topics=False,
        graceful_timeout=30,
        # Its injection works out each batch's arguments in a thread of their own, and waits for it.
        apply_types=False,
        logger=_logger(),
        security=_security(kafka),
    )


def consume(
    to: Subscriptions,
    topic: Topic[Body],
    *,
    group: str,
    usecase: UseCase[Body],
    parking: Parking,
    rest: timedelta = timedelta(milliseconds=100),
) -> None:
    """Subscribe a use case to a topic, on Kafka and on the sweep.

    Everything is spelled out because FastStream's defaults lose money: it acknowledges before
    the handler runs, starts at the newest offset, and decodes where nothing can be parked.

    :param group: the consumer's name in the inbox. Its Kafka group is of this topic alone, so
        that a rebalance of one topic does not stop the others.
    :param rest: how long at least to wait between two batches, so that they are few and large;
        zero where somebody waits for what is handled.
    """
    consumer = Consumer(topic, group, Batches(topic, usecase, parking))
    subscriber = to.broker.subscriber(
        topic.name,
        group_id=f"{group}.{topic.name}",
        batch=True,
        auto_offset_reset="earliest",
        ack_policy=AckPolicy.NACK_ON_ERROR,
        parser=_skip_parsing,
        decoder=_skip_decoding,  # the handler takes what it returns
        session_timeout_ms=to.kafka.session_timeout_ms,
        heartbeat_interval_ms=to.kafka.heartbeat_interval_ms,
        fetch_max_wait_ms=to.kafka.fetch_max_wait_ms,
    )
    polling = Polling()
    subscriber.get_msg = polling.poll  # type: ignore[assignment]  # its own sleeps without news

    pacing = LoopPacing(rest)

    @subscriber
    async def on_batch(message: KafkaMessage) -> None:
        message.clear_cache()  # it keeps what was decoded, which is itself: a cycle for each batch
        pacing.begin()
        records = _records(message)
        try:
            await consumer.receive(records)
            message.committed = AckStatus.ACKED  # the polling sees to the offsets
            if len(records) < RECORDS_MAX:
                await pacing.pause(len(records))
        except Unavailable as error:
            log.warning("batch waits", topic=topic.name, reason=str(error))
            await asyncio.sleep(RETRY_PAUSE_SECONDS)  # the nack seeks back at once
            raise
        except TooManyParked as error:
            raise StopConsume from error  # not acknowledged; the watchdog ends the process

    to.consumers.append((consumer, subscriber))


def _security(kafka: KafkaSettings) -> BaseSecurity:
    """Return what `connection_options` says, as FastStream takes it."""
    options = connection_options(kafka)
    tls: dict[str, Any] = {"ssl_context": options.get("ssl_context")}
    if not kafka.uses_sasl:
        return BaseSecurity(**tls)
    kind = SASLPlaintext if kafka.sasl_mechanism == "PLAIN" else SASLScram512
    return kind(options["sasl_plain_username"], options["sasl_plain_password"], **tls)


def _logger() -> logging.Logger:
    """FastStream says every message at INFO; its warnings and what it swallows are kept."""
    logger = logging.getLogger("faststream")
    logger.setLevel(logging.WARNING)
    use_json_output(logger)
    return logger


async def _skip_parsing(
    records: tuple[Any, ...], parse: Callable[[tuple[Any, ...]], Awaitable[KafkaMessage]]
) -> KafkaMessage:
    """Keep headers from being decoded: one that is no text would keep a batch from its handler."""
    message = await parse((replace(records[0], headers=()),))
    message.raw_message = records
    return message


async def _skip_decoding(message: KafkaMessage) -> KafkaMessage:
    """Leave the bytes to the consumer, which parks what it cannot read."""
    return message


def _records(message: KafkaMessage) -> Sequence[Record]:
    raw: Any = message.raw_message
    return [_record(r) for r in raw]


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
    """Read `source/xid/id`, as the relay writes it. Nonsense is no position."""
    try:
        source, xid, id_ = (header or b"").decode().split("/")
        position = Position(source, int(xid), int(id_))
    except ValueError:
        return None
    is_storable = 0 <= position.id <= BIGINT_MAX and 0 <= position.xid <= BIGINT_MAX
    return position if is_storable else None
