"""Creates missing topics, and reports whether their partitions have leaders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog
from aiokafka.admin import (  # type: ignore[import-untyped]
    AIOKafkaAdminClient,
    NewTopic,
)
from aiokafka.errors import (  # type: ignore[import-untyped]
    KafkaError,
    LeaderNotAvailableError,
    TopicAlreadyExistsError,
    for_code,
)

from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_runtime.postgres.database import forbid_open_transaction
from swap_runtime.settings import KafkaSettings

RETENTION_MS: Final = 7 * 24 * 3600 * 1000  # as RETENTION in maintenance.py, the outbox's
ANSWER_SECONDS: Final = 5
LEADER_PAUSE_SECONDS: Final = 0.5
log = structlog.get_logger()


async def ensure_topics(
    kafka: KafkaSettings, names: Collection[str] = tuple(OUTBOX_SCHEMAS)
) -> None:
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


async def has_leaders(kafka: KafkaSettings, *names: str) -> bool:
    """Return whether every partition of these topics has a leader: then consumers ought to work.

    A broker answers for a topic before it has elected leaders, and after it has lost them.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS), _admin(kafka) as admin:
            # Of all topics: some brokers make a topic that is asked for by its name.
            topics = {
                topic["topic"]: topic["partitions"] for topic in await admin.describe_topics()
            }
    except (KafkaError, OSError, TimeoutError):
        return False
    return all(topics.get(name) and all(map(_has_leader, topics[name])) for name in names)


async def await_leaders(kafka: KafkaSettings, names: Collection[str]) -> None:
    """Return once consumers of these topics can fetch.

    :raises LeaderNotAvailableError: when a partition is still without a leader.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                if await has_leaders(kafka, *names):
                    return
                await asyncio.sleep(LEADER_PAUSE_SECONDS)
    except TimeoutError:
        raise LeaderNotAvailableError(", ".join(sorted(names))) from None


def _has_leader(partition: Mapping[str, Any]) -> bool:
    return int(partition["leader"]) >= 0


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
