"""Publishes a service's outbox, oldest first. Nothing else publishes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

import structlog

from swap_runtime.crashpoint import crashpoint
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.leases import TERM, Lease
from swap_runtime.postgres.sql import Row, sql
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import counter

# Unpublished rows, not "rows after my cursor": ids are handed out before commit,
# so a lower id can appear later than a higher one.
NEXT_BATCH: Final = sql(
    """
SELECT CAST(current_schema() AS text) AS source, id, CAST(CAST(xid AS text) AS bigint) AS xid,
       message_id, topic, key, payload
FROM outbox WHERE published_at IS NULL ORDER BY id LIMIT :limit
""",
)
# Published messages may be published again, so the mark need not be on disk first.
ASYNCHRONOUS_COMMIT: Final = sql("SET LOCAL synchronous_commit TO off")
MARK_PUBLISHED: Final = sql(
    "UPDATE outbox SET published_at = now() WHERE id = ANY(:ids) AND published_at IS NULL"
)
# How long publishing rests after a failure. The sweep carries the messages meanwhile.
PAUSE_SECONDS: Final = 1.0
OVERHEAD_BYTES: Final = 16  # lengths, offset and time of a record, and of each header

PUBLISHED: Final = counter("outbox_published", "Messages that the relay published to Kafka")
PUBLISH_FAILURES: Final = counter("outbox_publish_failures", "Batches that Kafka did not accept")
# Alert: any.
TOO_LARGE: Final = counter(
    "outbox_too_large", "Messages too large for Kafka; the sweep delivers them"
)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Outbound:
    """One message on its way to the broker."""

    topic: str
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]]

    @property
    def size(self) -> int:
        """Bytes on the wire, roughly and not less."""
        headers = sum(len(name) + len(value) + OVERHEAD_BYTES for name, value in self.headers)
        return len(self.key) + len(self.value) + headers + OVERHEAD_BYTES


class Producer(Protocol):
    """What takes messages to the broker."""

    async def publish(self, messages: Sequence[Outbound]) -> Sequence[Outbound]:
        """Deliver them, in order within a key; return those that are too large for ever.

        After any exception it is unknown which were delivered.
        """
        ...

    async def discard(self) -> None:
        """Start again with the next: after an error no part of the old state is used."""
        ...


class Relay:
    """One per process; the one that holds the lease publishes, the others stand by."""

    def __init__(
        self,
        engine: Engine,
        producer: Producer,
        *,
        holder: str,
        term: timedelta = TERM,
        batch_size: int = 1000,
    ) -> None:
        self._engine = engine
        self._producer = producer
        self._lease = Lease(engine, "outbox-relay", holder=holder, term=term)
        self._batch_size = batch_size

    @property
    def is_leader(self) -> bool:
        """Whether it is the one that publishes."""
        return self._lease.is_held

    async def __call__(self) -> bool:
        """Publish once; True when more is waiting. A broker that is away is waited for.

        :raises Unavailable: when Postgres is away.
        """
        try:
            return await self.publish_batch() == self._batch_size
        except Unavailable:
            raise
        except Exception as error:
            # Whatever it was, the rows are not marked and will be sent again.
            PUBLISH_FAILURES.inc()
            log.warning("publishing failed", error=f"{type(error).__name__}: {error}")
            await self._producer.discard()
            await asyncio.sleep(PAUSE_SECONDS)
            return False

    async def publish_batch(self) -> int:
        """Publish the oldest waiting rows and return how many: 0 while another has the lease."""
        if not await self._lease.acquire():
            return 0
        rows = await read_alone(self._engine, NEXT_BATCH, {"limit": self._batch_size})
        if rows:
            crashpoint("relay.before_publish")
            # Half the term: a batch that hangs must end before another process may send.
            began = tracing.now()
            sent = await asyncio.wait_for(self._send(rows), self._lease.term.total_seconds() / 2)
            _trace_published(rows, began)
            crashpoint("relay.after_publish")
            async with transaction(self._engine) as connection:
                connection.post(ASYNCHRONOUS_COMMIT)
                connection.post(MARK_PUBLISHED, {"ids": [row.id for row in rows]})
            PUBLISHED.inc(sent)
        return len(rows)

    async def stop(self) -> None:
        """Publish what waits, if the broker takes it now, and let another relay begin."""
        try:
            async with asyncio.timeout(self._lease.term.total_seconds() / 2):
                while await self.publish_batch() == self._batch_size:
                    pass
        except Exception as error:
            log.info("outbox not drained at stop", error=f"{type(error).__name__}: {error}")
        await self._producer.discard()
        await self._lease.release()

    async def _send(self, rows: Sequence[Row]) -> int:
        """Return how many were delivered. One that failed fails the batch: all is sent again."""
        too_large = await self._producer.publish([_to_outbound(row) for row in rows])
        for message in too_large:
            # A retry would delay all later messages; sweeps read the outbox.
            TOO_LARGE.inc()
            log.error(
                "message too large for kafka",
                topic=message.topic,
                message_id=dict(message.headers)["message_id"].decode(),
                bytes=len(message.value),
            )
        return len(rows) - len(too_large)


def _trace_published(rows: Sequence[Row], began: int) -> None:
    if tracing.is_on():
        messages = ((row.message_id, row.topic, row.payload) for row in rows)
        tracing.messages_published(messages, began=began, ended=tracing.now())


def _to_outbound(row: Row) -> Outbound:
    return Outbound(row.topic, row.key, row.payload, _headers(row))


def _headers(row: Row) -> Sequence[tuple[str, bytes]]:
    """Say outside the payload who the message is and where it stands in which outbox."""
    return (
        ("message_id", str(row.message_id).encode()),
        ("outbox", f"{row.source}/{row.xid}/{row.id}".encode()),
    )
