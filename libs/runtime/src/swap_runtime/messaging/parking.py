"""Messages that cannot be handled, set aside with their bytes until an operator releases or drops
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import Final, Protocol
from uuid import UUID, uuid5

from psycopg.errors import InsufficientPrivilege, InvalidSchemaName, UndefinedTable

from swap_runtime.errors import Unavailable
from swap_runtime.messaging.quarantine import Quarantine
from swap_runtime.messaging.records import Position, Record
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_runtime.messaging.verification import OutboxCheck, UnverifiedMessages
from swap_runtime.messaging.watermark import FIND_WATERMARK, SKIPPED
from swap_runtime.postgres.database import Engine, Question, execute_alone, reading
from swap_runtime.postgres.sql import Rows, sql

# The errors of reading a sender's outbox before the sender has created it.
OUTBOX_MISSING: Final = (InvalidSchemaName, UndefinedTable, InsufficientPrivilege)


class Behind(Exception):
    """Something of these messages waits behind a parked one: nothing of them was done."""


class MessagesNotMarked(Exception):
    """A use case changed something without marking its messages, so they were not checked: always a
    bug.
    """


class BatchCheck:
    """The first query of a transaction: whether its messages may be handled."""

    def __init__(self, held: Question, check: OutboxCheck) -> None:
        self.queries = (held, *check.queries)
        self.is_done = False
        self._check = check

    def verify(self, answers: Sequence[Rows]) -> None:
        """
        :raises UnverifiedMessages: when the sender's outbox does not hold a message.
        :raises Behind: when something is parked that has to come first.
        """
        self.is_done = True
        held, *digests = answers
        if self._check.find_unverified(digests):
            raise UnverifiedMessages
        if held:
            raise Behind


_batch_check: ContextVar[BatchCheck | None] = ContextVar("batch_check", default=None)


def current_batch_check() -> BatchCheck | None:
    """Return what the transaction that is begun now has to ask; None outside of a batch."""
    return _batch_check.get()


class Parking(Protocol):
    """Where a consumer puts what cannot work."""

    def guarding(self, topic: str, records: Sequence[Record]) -> AbstractContextManager[None]:
        """Have what is done inside undone, with UnverifiedMessages or Behind, if a record must not
        act.

        UnverifiedMessages when its sender's outbox does not hold it, Behind while its key has a
        parked message. Both are looked up where the messages are marked, in the same transaction.
        That needs no further lock, and includes messages that another consumer parks meanwhile.
        """
        ...

    async def select_verified(self, topic: str, records: Sequence[Record]) -> Sequence[Record]:
        """Return the records that their sender's outbox holds, and set the others aside.

        What the watermark has passed is in neither: it is a duplicate, and its row may be dropped.

        :raises Unavailable: when Postgres is away, or the sender has no outbox yet.
        """
        ...

    async def held_keys(self, topic: str, keys: Collection[bytes]) -> frozenset[bytes]:
        """Return the keys that have a parked message; what follows on them waits behind it."""
        ...

    async def park(
        self, record: Record, message_id: UUID | None, *, reason: str, is_behind: bool = False
    ) -> None:
        """Keep the record, and mark its message parked in the inbox.

        Parking the same message again changes nothing, and neither does parking one that is done.
        """
        ...


# One already in the inbox is left alone: it is done, or parked already.
PARK: Final = sql("""
WITH marked AS (
  INSERT INTO inbox AS seen (consumer, message_id, state)
  VALUES (:consumer, :message_id, 'parked')
  -- What comes again while it is released is not behind anything: it would wait for itself.
  ON CONFLICT (consumer, message_id) DO UPDATE SET state = 'parked'
    WHERE seen.state = 'released' AND NOT CAST(:is_behind AS boolean)
  RETURNING message_id
)
INSERT INTO parked AS kept
  (consumer, topic, key, value, partition, "offset", message_id, reason, is_behind)
SELECT :consumer, :topic, :key, :value, :partition, :offset, message_id, :reason, :is_behind
FROM marked
ON CONFLICT (consumer, message_id) DO UPDATE
SET state = 'parked', reason = excluded.reason, is_behind = excluded.is_behind, ended_at = NULL
RETURNING id
""")
HELD: Final = sql("""
SELECT DISTINCT key FROM parked
WHERE consumer = :consumer AND topic = :topic AND key = ANY(CAST(:keys AS bytea[]))
  AND state IN ('parked', 'releasing')
""")
NAMESPACE: Final = UUID("5f0f6f0e-5a5c-4f0c-9b39-0d8e7c1f2a11")


class PostgresParking:
    """The `parked` table of a service, for one of its consumers."""

    def __init__(
        self, engine: Engine, *, consumer: str, sources: Mapping[str, str] = OUTBOX_SCHEMAS
    ) -> None:
        """
        :param sources: the schema with the outbox of each topic.
        """
        self._engine = engine
        self._consumer = consumer
        self._sources = sources
        self._quarantine = Quarantine(engine, consumer=consumer)

    @contextmanager
    def guarding(self, topic: str, records: Sequence[Record]) -> Iterator[None]:
        held = self._held_keys_query(topic, {record.key for record in records})
        check = BatchCheck(held, OutboxCheck(self._sources[topic], topic, records))
        token = _batch_check.set(check)
        try:
            yield
        finally:
            _batch_check.reset(token)
        if not check.is_done:
            raise MessagesNotMarked(topic)

    async def select_verified(self, topic: str, records: Sequence[Record]) -> Sequence[Record]:
        source = self._sources[topic]
        check = OutboxCheck(source, topic, records)
        consumer = {"consumer": self._consumer, "source": source, "topic": topic}
        try:
            async with reading(self._engine) as connection:
                found, *digests = await connection.ask((FIND_WATERMARK, consumer), *check.queries)
        except OUTBOX_MISSING as error:
            raise Unavailable(f"the outbox of {source} is not there yet") from error
        unverified = check.find_unverified(digests)
        watermark = next((Position(source, row.xid, row.id) for row in found), None)
        not_passed = [record for record in unverified if not _is_passed(record, watermark)]
        SKIPPED.labels(topic).inc(len(unverified) - len(not_passed))
        if not_passed:
            await self._quarantine.store(topic, source, not_passed)
        refused = frozenset(unverified)
        return [record for record in records if record not in refused]

    async def held_keys(self, topic: str, keys: Collection[bytes]) -> frozenset[bytes]:
        async with reading(self._engine) as connection:
            return frozenset(await connection.scalars(*self._held_keys_query(topic, keys)))

    def _held_keys_query(self, topic: str, keys: Collection[bytes]) -> Question:
        return HELD, {"consumer": self._consumer, "topic": topic, "keys": list(keys)}

    async def park(
        self, record: Record, message_id: UUID | None, *, reason: str, is_behind: bool = False
    ) -> None:
        values = {
            "consumer": self._consumer,
            "topic": record.topic,
            "key": record.key,
            "value": record.value,
            "partition": record.partition,
            "offset": record.offset,
            "message_id": message_id or record.message_id or _id_of(record),
            "reason": reason[:2000],
            "is_behind": is_behind,
        }
        await execute_alone(self._engine, PARK, values)


def _is_passed(record: Record, watermark: Position | None) -> bool:
    position = record.position
    return position is not None and watermark is not None and position.is_passed_by(watermark)


def _id_of(record: Record) -> UUID:
    """Name a message that does not say who it is by what it is, so that a copy is the same."""
    digest = sha256(record.key + b"/" + record.value).hexdigest()
    return uuid5(NAMESPACE, f"{record.topic}/{digest}")
