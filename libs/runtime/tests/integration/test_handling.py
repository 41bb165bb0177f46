"""A handler makes no requests, and all of its other work is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from inspect import signature

import aiohttp
import psycopg
import pytest
from aiokafka import AIOKafkaConsumer  # type: ignore[import-untyped]

from libs.runtime.tests.fakes import NOTES, FakeParking, KeepNotes, Note, a_note, a_record
from swap_chains.evm.rpc import Rpc
from swap_contracts.envelope import Envelope
from swap_runtime.errors import Unavailable
from swap_runtime.handling import RequestInHandler
from swap_runtime.messaging.batches import Batches
from swap_runtime.messaging.producing import KafkaProducer
from swap_runtime.messaging.relay import Outbound
from swap_runtime.postgres.database import Engine, forbid_open_transaction, reading
from swap_runtime.settings import KafkaSettings
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
NOWHERE = "127.0.0.1:1"
ROOM_FACTOR = 10

Request = Callable[[], Awaitable[object]]


async def ask_a_node() -> None:
    async with aiohttp.ClientSession() as session:
        url = f"http://{NOWHERE}"
        rpc = Rpc.to_urls("N", [url], session, before_call=lambda: forbid_open_transaction("rpc"))
        await rpc.call("eth_chainId")


async def publish() -> None:
    producer = KafkaProducer(KafkaSettings(bootstrap_servers=NOWHERE))
    await producer.publish([Outbound("t", b"k", b"v", ())])


def handler_that(request: Request) -> Callable[[Sequence[Envelope[Note]]], Awaitable[None]]:
    async def handle(_: Sequence[Envelope[Note]]) -> None:
        await request()

    return handle


@pytest.mark.fault("K11")
class TestARequest:
    @pytest.mark.parametrize(
        ("request_of", "what"),
        [pytest.param(ask_a_node, "rpc", id="chain"), pytest.param(publish, "kafka", id="broker")],
    )
    async def test_k11_is_refused_inside_a_handler(self, request_of: Request, what: str) -> None:
        parking = FakeParking()

        await Batches(NOTES, handler_that(request_of), parking)([a_record()])

        assert [reason for _, reason in parking.parked] == [f"RequestInHandler: {what}"]

    async def test_k11_is_refused_for_a_message_that_is_released(self) -> None:
        batches = Batches(NOTES, handler_that(ask_a_node), FakeParking())

        with pytest.raises(RequestInHandler):
            await batches.run_alone(a_note().model_dump_json().encode())

    async def test_k11_of_a_task_that_a_handler_starts_is_allowed_once_it_has_ended(self) -> None:
        is_handled = asyncio.Event()
        started: list[asyncio.Task[None]] = []

        async def request_afterwards() -> None:
            with pytest.raises(RequestInHandler):
                forbid_open_transaction("rpc")
            await is_handled.wait()
            forbid_open_transaction("rpc")

        async def start() -> None:
            started.append(asyncio.create_task(request_afterwards()))
            await asyncio.sleep(0)

        await Batches(NOTES, handler_that(start), FakeParking())([a_record()])
        is_handled.set()

        await started[0]


@pytest.mark.fault("K11")
class TestABound:
    async def test_k11_every_wait_of_a_handler_is_far_shorter_than_a_consumer_may_be_silent(
        self, engine: Engine
    ) -> None:
        may_be_silent = signature(AIOKafkaConsumer).parameters["max_poll_interval_ms"].default
        async with reading(engine) as connection:
            waits = await connection.scalars(
                "SELECT CAST(setting AS int) FROM pg_settings WHERE name IN"
                " ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')"
            )

        assert len(waits) == 3
        assert min(waits) > 0
        assert max(waits) * ROOM_FACTOR <= may_be_silent

    async def test_k11_a_handler_that_stands_before_a_lock_gives_its_batch_back(
        self, engine: Engine, database: Database
    ) -> None:
        notes = KeepNotes(engine)
        with psycopg.connect(database.superuser_url) as other:
            other.execute("LOCK TABLE settler.note IN EXCLUSIVE MODE")
            with pytest.raises(Unavailable):
                await Batches(NOTES, notes, FakeParking())([a_record()])

        assert await notes.stored_notes() == []
