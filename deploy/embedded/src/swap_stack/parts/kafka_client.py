"""One question to a broker that speaks Kafka's protocol."""

from __future__ import annotations

import logging

from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.settings import KafkaSettings
from swap_stack.daemon import is_listening

REQUEST_TIMEOUT_MS = 2000


async def has_brokers(kafka: KafkaSettings) -> bool:
    """Return whether the cluster answers and has a broker to make topics on."""
    if not await is_listening(int(kafka.bootstrap_servers.rpartition(":")[2])):
        return False
    # A broker that is still starting is expected: aiokafka logs nothing about it.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    client = AIOKafkaAdminClient(**connection_options(kafka), request_timeout_ms=REQUEST_TIMEOUT_MS)
    try:
        await client.start()
        cluster = await client.describe_cluster()
        return bool(cluster["brokers"])
    except (KafkaError, OSError):
        return False
    finally:
        await client.close()
