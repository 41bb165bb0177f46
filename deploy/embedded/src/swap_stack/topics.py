"""Make every topic before anyone produces: the embedded broker loses what has none."""

from __future__ import annotations

from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # type: ignore[import-untyped]

from swap_contracts.topics import TOPICS

PARTITIONS = 12


async def make_topics(bootstrap_servers: str) -> None:
    """Make what is missing; a topic that is there stays as it is."""
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    await client.start()
    try:
        there = set(await client.list_topics())
        missing = [topic.name for topic in TOPICS if topic.name not in there]
        await client.create_topics([NewTopic(name, PARTITIONS, 1) for name in missing])
    finally:
        await client.close()
