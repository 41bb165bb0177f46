"""Messages of a topic that only these tests have, and what stands for a service."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

import psycopg

from swap_contracts.envelope import Envelope, Message, Topic
from swap_runtime.database import Engine, transaction
from swap_runtime.inbox import mark_seen
from swap_runtime.outbox import Outgoing, add_to_outbox
from swap_runtime.parking import Behind, Record
from swap_runtime.schema import create_runtime_tables, drop_outbox_trigger
from swap_runtime.sql import sql

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Note(Message):
    thing: str
    version: int


NOTES = Topic("notes.v1", Envelope[Note], lambda note: note.thing)


def a_note(thing: str = "a", *, version: int = 1) -> Envelope[Note]:
    note = Note(thing=thing, version=version)
    return NOTES.seal(note, version=version, occurred_at=NOON, trace_id="t")


def a_record(thing: str = "a", *, version: int = 1, value: bytes | None = None) -> Record:
    raw = a_note(thing, version=version).model_dump_json().encode()
    return Record(NOTES.name, 0, version, thing.encode(), value or raw)


def outgoing(thing: str = "a", *, version: int = 1) -> Outgoing:
    return Outgoing.of(NOTES, a_note(thing, version=version))


class FakeParking:
    def __init__(self, held: Iterable[bytes] = ()) -> None:
        self._held = frozenset(held)
        self.parked: list[tuple[bytes, str]] = []

    @contextmanager
    def guarding(self, topic: str, keys: Collection[bytes]) -> Iterator[None]:
        if self._held & frozenset(keys):
            raise Behind
        yield

    async def held(self, topic: str, keys: Collection[bytes]) -> frozenset[bytes]:
        return self._held & frozenset(keys)

    async def park(
        self, record: Record, message_id: UUID | None, *, reason: str, is_behind: bool = False
    ) -> None:
        self.parked.append((record.value, reason))


class KeepNotes:
    """A use case as a service has it: marks, effects, one transaction."""

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

    async def kept(self) -> list[tuple[str, int]]:
        """Every effect, in order: one message that acted twice is there twice."""
        async with self._engine.connect() as connection:
            return [tuple(row) for row in await connection.execute(KEPT)]


KEEP = sql("INSERT INTO note (thing, version) VALUES (:thing, :version)")
KEPT = sql("SELECT thing, version FROM note ORDER BY n")


async def decide(engine: Engine, *messages: Outgoing) -> None:
    """Commit messages to the outbox, as a use case does."""
    async with transaction(engine) as connection:
        add_to_outbox(connection, messages)


class Migration:
    """What `create_runtime_tables` needs of Alembic."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, sqltext: str) -> object:
        return self._connection.execute(sqltext)


def make_tables(url: str) -> None:
    """Make the runtime's tables, and one of a service, anew."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        for table in ("outbox", "inbox", "watermark", "parked", "lease", "note"):
            connection.execute(f"DROP TABLE IF EXISTS {table} CASCADE")
        connection.execute("DROP FUNCTION IF EXISTS make_outbox_partition")
        create_runtime_tables(Migration(connection))
        drop_outbox_trigger(Migration(connection))
        connection.execute(
            "CREATE TABLE note (n bigint GENERATED ALWAYS AS IDENTITY, thing text, version int)"
        )
