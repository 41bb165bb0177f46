"""Sets aside messages that their sender's outbox does not hold, for an operator to see.

They mark no message in the inbox and lock no key. A forged record with the key or the id of a real
message must not delay that message. A flood of them fills no disk: so many are kept per topic, each
cut to a length, and all are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid5

import structlog

from swap_runtime.messaging.records import Record
from swap_runtime.postgres.database import Engine, execute_alone
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import counter

# Below the length of an operator's list, so that no flood hides what is parked.
STORED_MAX: Final = 100
KEY_BYTES_MAX: Final = 1024
VALUE_BYTES_MAX: Final = 64 * 1024
NAMESPACE: Final = UUID("5e1d0a52-6c0f-4a3b-8f7e-0d1b9a3c6e42")

# `message_id` is a name for the bytes, not the id that they claim, which may be a real message's.
# One that an operator dropped stays dropped when it is delivered again.
STORE: Final = sql("""
INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id, claimed_id,
                    outbox_id, reason, is_behind, state)
SELECT :consumer, :topic, key, value, partition, place, name, claimed_id, outbox_id, :reason, false,
       'unverified'
FROM unnest(CAST(:key AS bytea[]), CAST(:value AS bytea[]), CAST(:partition AS int[]),
            CAST(:place AS bigint[]), CAST(:name AS uuid[]), CAST(:claimed_id AS uuid[]),
            CAST(:outbox_id AS bigint[]))
     WITH ORDINALITY AS new(key, value, partition, place, name, claimed_id, outbox_id, n)
ORDER BY n
LIMIT (SELECT greatest(0, CAST(:at_most AS bigint) - count(*)) FROM parked
       WHERE consumer = :consumer AND topic = :topic AND state = 'unverified')
ON CONFLICT (consumer, message_id) DO NOTHING
""")

# Alert: any.
UNVERIFIED: Final = counter(
    "messages_unverified", "Messages from Kafka that their sender's outbox does not hold", ["topic"]
)
log = structlog.get_logger()


class Quarantine:
    """The `unverified` rows of a service's `parked` table, for one of its consumers."""

    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    async def store(self, topic: str, source: str, records: Sequence[Record]) -> None:
        """Count and log the records, and keep as many as there is room for.

        :raises Unavailable: when Postgres is away.
        """
        stored = records[:STORED_MAX]
        values = {
            "consumer": self._consumer,
            "topic": topic,
            "key": [record.key[:KEY_BYTES_MAX] for record in stored],
            "value": [record.value[:VALUE_BYTES_MAX] for record in stored],
            "partition": [record.partition for record in stored],
            "place": [record.offset for record in stored],
            "name": [_name(record) for record in stored],
            "claimed_id": [record.message_id for record in stored],
            "outbox_id": [_outbox_id(record, source) for record in stored],
            "reason": f"not in the outbox of {source}",
            "at_most": STORED_MAX,
        }
        await execute_alone(self._engine, STORE, values)
        UNVERIFIED.labels(topic).inc(len(records))
        log.error(
            "messages not in their sender's outbox",
            topic=topic,
            source=source,
            messages=len(records),
            partition=records[0].partition,
            offset=records[0].offset,
            message_id=str(records[0].message_id or ""),
        )


def _outbox_id(record: Record, source: str) -> int | None:
    position = record.position
    return position.id if position is not None and position.source == source else None


def _name(record: Record) -> UUID:
    """Name a record by its content, so that its copies are stored once."""
    headers = f"{record.topic}/{record.message_id}/{record.position}".encode()
    digest = sha256(sha256(headers).digest() + sha256(record.key).digest() + record.value)
    return uuid5(NAMESPACE, digest.hexdigest())
