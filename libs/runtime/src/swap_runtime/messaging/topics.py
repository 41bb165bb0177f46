"""Making sure that all topics are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog
from aiokafka.admin import (  # type: ignore[import-untyped]
    AIOKafkaAdminClient,
    NewTopic,
)
from aiokafka.errors import (  # type: ignore[import-untyped]
    KafkaError,
    TopicAlreadyExistsError,
    for_code,
)

from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.sources import SOURCES
from swap_runtime.postgres.database import forbid_open_transaction
from swap_runtime.settings import KafkaSettings

RETENTION_MS: Final = 7 * 24 * 3600 * 1000  # as RETENTION in maintenance.py, the outbox's
ANSWER_SECONDS: Final = 5
log = structlog.get_logger()


async def ensure_topics(kafka: KafkaSettings, names: Collection[str] = tuple(SOURCES)) -> None:
    """Make the topics that are missing; those that are there stay as they are.

    :raises KafkaError, OSError, TimeoutError: when the broker does not answer or does not agree.
    """
    async with asyncio.timeout(ANSWER_SECONDS), _admin(kafka) as admin:
        missing = set(names) - set(await admin.list_topics())
        if not missing:
            return
        answer: Any = await admin.create_topics([_new(kafka, name) for name in sorted(missing)])
        for name, code, *_ in answer.topic_errors:
            error = for_code(code)
            if code and error is not TopicAlreadyExistsError:
                raise error(name)
        log.info("topics created", topics=sorted(missing))


async def has_topic(kafka: KafkaSettings, name: str) -> bool:
    """Return whether the broker answers and has the topic: then its consumer should work."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS), _admin(kafka) as admin:
            return name in await admin.list_topics()
    except (KafkaError, OSError, TimeoutError):
        return False


@asynccontextmanager
async def _admin(kafka: KafkaSettings) -> AsyncIterator[AIOKafkaAdminClient]:
    forbid_open_transaction("kafka")
    admin = AIOKafkaAdminClient(
        **connection_options(kafka), request_timeout_ms=ANSWER_SECONDS * 1000
    )
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


def _new(kafka: KafkaSettings, name: str) -> NewTopic:
    return NewTopic(
        name=name,
        num_partitions=kafka.topic_partitions,
        replication_factor=kafka.topic_replication_factor,
        topic_configs={
            "min.insync.replicas": str(kafka.topic_min_insync_replicas),
            "retention.ms": str(RETENTION_MS),
        },
    )
