"""Messages of a topic that only these tests have, and fakes of a service's parts."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

import psycopg

from swap_contracts.envelope import Envelope, Message, Topic
from swap_runtime.messaging.inbox import mark_seen
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.messaging.parking import Behind, PostgresParking
from swap_runtime.messaging.records import Record
from swap_runtime.messaging.relay import Outbound
from swap_runtime.postgres.database import Engine, forbid_open_transaction, transaction
from swap_runtime.postgres.schema import (
    create_runtime_tables,
    log_operator_orders,
    store_proposals,
    verify_messages,
)
from swap_runtime.postgres.sql import sql

TABLES = (
    *("outbox", "inbox", "watermark", "parked", "lease", "note"),
    *("operator_order", "operator_proposal"),
)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
REASON_MAX = 2000  # characters


class Note(Message):
    thing: str
    version: int


NOTES = Topic("notes.v1", Envelope[Note], lambda note: note.thing)


def a_note(thing: str = "a", *, version: int = 1) -> Envelope[Note]:
    note = Note(thing=thing, version=version)
    return NOTES.seal(note, version=version, occurred_at=NOON, trace_id="t")


def a_record(thing: str = "a", *, version: int = 1, value: bytes | None = None) -> Record:
    """Return a record as the sweep reads it from the outbox, without another comparison."""
    raw = a_note(thing, version=version).model_dump_json().encode()
    return Record(NOTES.name, 0, version, thing.encode(), value or raw, is_from_outbox=True)


def outgoing(thing: str = "a", *, version: int = 1) -> Outgoing:
    return Outgoing.of(NOTES, a_note(thing, version=version))


class FakeParking:
    """Parking in memory: every record counts as its sender's, and nothing is released.

    `test_parking_contract.py` compares it with the real one.

    :param held: keys with an earlier parked message, of every topic.
    """

    def __init__(self, held: Iterable[bytes] = ()) -> None:
        self._held = frozenset(held)
        self._parked: dict[Hashable, tuple[Record, str]] = {}

    @property
    def parked(self) -> list[tuple[bytes, str]]:
        return [(record.value, reason) for record, reason in self._parked.values()]

    @contextmanager
    def guarding(self, topic: str, records: Sequence[Record]) -> Iterator[None]:
        if self._held_of(topic) & {record.key for record in records}:
            raise Behind
        yield

    async def select_verified(self, topic: str, records: Sequence[Record]) -> Sequence[Record]:
        return records

    async def held_keys(self, topic: str, keys: Collection[bytes]) -> frozenset[bytes]:
        return self._held_of(topic) & frozenset(keys)

    def _held_of(self, topic: str) -> frozenset[bytes]:
        parked = (record for record, _ in self._parked.values())
        return self._held | {record.key for record in parked if record.topic == topic}

    async def park(
        self, record: Record, message_id: UUID | None, *, reason: str, is_behind: bool = False
    ) -> None:
        unnamed = (record.topic, record.key, record.value)
        identity: Hashable = message_id or record.message_id or unnamed
        self._parked.setdefault(identity, (record, reason[:REASON_MAX]))


class FakeProducer:
    """A broker in memory. `test_producer_contract.py` compares it with the real one.

    :param lost: the key with which the next publishing fails.
    :param too_large: the key of messages that every broker refuses.
    """

    def __init__(self, *, lost: bytes | None = None, too_large: bytes | None = None) -> None:
        self.lost = lost
        self.too_large = too_large
        self.messages: list[Outbound] = []
        self.discarded = 0

    @property
    def delivered(self) -> list[bytes]:
        return [message.key for message in self.messages]

    @property
    def headers(self) -> list[dict[str, bytes]]:
        return [dict(message.headers) for message in self.messages]

    async def publish(self, messages: Sequence[Outbound]) -> Sequence[Outbound]:
        forbid_open_transaction("kafka")
        keys = [message.key for message in messages]
        self.messages += [m for m in messages if m.key not in (self.lost, self.too_large)]
        if self.lost in keys:
            self.lost = None
            raise ConnectionError
        return [message for message in messages if message.key == self.too_large]

    async def discard(self) -> None:
        self.discarded += 1


SOURCES = {NOTES.name: "settler"}


def a_parking(engine: Engine, *, topic: Topic[Note] = NOTES) -> PostgresParking:
    """Return the parking of the consumer `test` for the settler's notes."""
    return PostgresParking(engine, consumer="test", sources={topic.name: "settler"})


class KeepNotes:
    """A use case like a service's: marks, effects, one transaction."""

    def __init__(self, engine: Engine, *, consumer: str = "test") -> None:
        self._engine = engine
        self._consumer = consumer
        self.poison: set[str] = set()
        self.calls = 0

    async def __call__(self, messages: Sequence[Envelope[Note]]) -> None:
        self.calls += 1
        if any(message.body.thing in self.poison for message in messages):
            raise ValueError("poison")
        async with transaction(self._engine) as connection:
            ids = [message.message_id for message in messages]
            fresh = await mark_seen(connection, self._consumer, ids)
            for message in messages:
                if message.message_id in fresh:
                    values = message.body.model_dump()
                    await connection.execute(KEEP, values)

    async def stored_notes(self) -> list[tuple[str, int]]:
        """Every effect, in order; a message with two effects appears twice."""
        async with self._engine.connect() as connection:
            return [tuple(row) for row in await connection.execute(STORED)]


KEEP = sql("INSERT INTO note (thing, version) VALUES (:thing, :version)")
STORED = sql("SELECT thing, version FROM note ORDER BY n")


async def decide(engine: Engine, *messages: Outgoing) -> None:
    """Commit messages to the outbox, as a use case does."""
    async with transaction(engine) as connection:
        add_to_outbox(connection, messages)


class Migration:
    """The part of Alembic that `create_runtime_tables` calls."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, sqltext: str) -> object:
        return self._connection.execute(sqltext)


def make_tables(url: str) -> None:
    """Create the runtime's tables, and one of a service, again."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        for table in (
            "outbox",
            "inbox",
            "watermark",
            "parked",
            "lease",
            "note",
            "operator_order",
            "operator_proposal",
        ):
            connection.execute(f"DROP TABLE IF EXISTS {table} CASCADE")
        for function in ("make_outbox_partition", "refuse_operator_order_change"):
            connection.execute(f"DROP FUNCTION IF EXISTS {function}")
        create_runtime_tables(Migration(connection))
        verify_messages(Migration(connection))
        log_operator_orders(Migration(connection))
        store_proposals(Migration(connection))
        connection.execute(
            "CREATE TABLE note (n bigint GENERATED ALWAYS AS IDENTITY, thing text, version int)"
        )
