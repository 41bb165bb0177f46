"""The official images behave as the embedded programs do: tables, one message, one counter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from pydantic import SecretStr

from swap_contracts.envelope import Envelope, Message, Topic
from swap_runtime.messaging.consuming import consume
from swap_runtime.messaging.inbox import mark_seen
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, reading, transaction
from swap_runtime.postgres.sql import sql
from swap_runtime.process.running import Running
from swap_runtime.process.service import Service
from swap_runtime.settings import (
    KafkaSettings,
    OperatorSettings,
    RedisSettings,
    ServiceGroup,
    SharedSettings,
    SweepSettings,
)
from tests.plugins.broker import Broker
from tests.plugins.postgres import SERVICES, Database
from tests.support.waiting import until

pytestmark = pytest.mark.connected
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Note(Message):
    thing: str
    version: int


HINTED = Topic("deposit.hinted.v1", Envelope[Note], lambda note: note.thing)  # the api's
MARKED = sql("SELECT count(*) FROM inbox WHERE consumer = 'settler'")
PUBLISHED = sql("SELECT count(*) FROM outbox WHERE published_at IS NOT NULL")


class Remember:
    """A use case: marks the inbox and stores new messages, in one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.things: list[str] = []

    async def __call__(self, messages: Sequence[Envelope[Note]]) -> None:
        async with transaction(self._engine) as connection:
            ids = [message.message_id for message in messages]
            fresh = await mark_seen(connection, "settler", ids)
        self.things += [m.body.thing for m in messages if m.message_id in fresh]


def a_service(name: str, url: str, kafka: KafkaSettings) -> Service:
    an_hour = timedelta(hours=1)
    settings = SharedSettings(
        kafka=kafka,
        redis=RedisSettings(url=SecretStr("redis://nowhere")),
        operator=OperatorSettings(token=SecretStr("operator's")),
        catalogue=Path("catalogue.yaml"),
        # A message that the sweep delivers proves nothing about Kafka.
        sweep=SweepSettings(idle_after=an_hour, overdue_after=an_hour),
    )
    group = ServiceGroup(database_url=SecretStr(url), internal_port=0)
    return Service(name, settings, group)


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[None]:
    one = Running(service)
    task = asyncio.create_task(one.run())
    try:
        yield
    finally:
        one.stop()
        await task


async def count(engine: Engine, question: Any) -> int:
    async with reading(engine) as connection:
        return int(await connection.scalar(question) or 0)


def test_every_service_migrates_its_schema(database: Database) -> None:
    with psycopg.connect(database.superuser_url) as connection:
        rows = connection.execute(
            "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename = 'alembic_version'"
        ).fetchall()
        version = connection.info.server_version
    assert {name for (name,) in rows} == set(SERVICES)
    assert version // 10000 == 18


async def test_a_message_goes_through_outbox_kafka_and_inbox(
    migrate_schema: Callable[[str], str], broker: Broker
) -> None:
    api = a_service("api", migrate_schema("api"), broker.settings)
    settler = a_service("settler", migrate_schema("settler"), broker.settings)
    remember = Remember(settler.engine)
    consume(
        settler.subscriptions,
        HINTED,
        consumer_name="settler",
        usecase=remember,
        parking=settler.parking("settler"),
    )
    note = HINTED.seal(
        Note(thing="a deposit", version=1), version=1, occurred_at=NOON, trace_id="t"
    )
    publishing = api.engine

    async with running(api), running(settler):
        async with transaction(publishing) as connection:
            add_to_outbox(connection, [Outgoing.of(HINTED, note)])
        await until(lambda: _is(remember.things == ["a deposit"]))
        await until(lambda: _equals(count(publishing, PUBLISHED), 1))
        marked = await count(settler.engine, MARKED)

    assert marked == 1


def test_two_clients_share_a_counter(redis_url: str) -> None:
    clients = [redis.Redis.from_url(redis_url) for _ in range(2)]

    assert [client.incr("app/reads") for client in clients] == [1, 2]


async def _is(value: bool) -> bool:
    return value


async def _equals(value: Awaitable[int], expected: int) -> bool:
    return await value == expected
