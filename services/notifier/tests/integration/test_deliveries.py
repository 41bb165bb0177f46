"""From a swap's change to a signed request, on a real PostgreSQL and real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import standardwebhooks
from aiohttp import web
from pydantic import SecretStr
from sqlalchemy.dialects import postgresql

from services.notifier.tests.factories import NOW, SEALING, a_swap, sealed
from services.notifier.tests.sink import Sink, answering, hang_up, never_answer, open_sink
from swap_contracts.swaps import SwapChanged
from swap_notifier.adapters.deliveries import PostgresDeliveries
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.adapters.guard import guarded_connector
from swap_notifier.adapters.http_sender import HttpSender
from swap_notifier.adapters.messages import PostgresMessages
from swap_notifier.adapters.tables import METADATA
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.domain.endpoints import Endpoint, to_secret
from swap_notifier.domain.outcomes import Claimed, DisabledReason
from swap_notifier.domain.windows import Windows
from swap_notifier.usecases.create_messages import CreateMessages
from swap_notifier.usecases.deliver_messages import DeliverMessages
from swap_notifier.usecases.discard_messages import DiscardMessages
from swap_notifier.usecases.forget_messages import ForgetMessages
from swap_notifier.usecases.replay_messages import ReplayMessages
from swap_notifier.usecases.rotate_secret import RotateSecret
from swap_runtime.database import Engine, create_engine
from swap_runtime.sql import sql
from swap_runtime.supervision import cancelled
from swap_runtime.wake import Wake

pytestmark = pytest.mark.connected
FAST = timedelta(milliseconds=20)
DAY = timedelta(days=1)


@pytest.fixture
async def engine(migrated: Callable[[str], str]) -> AsyncIterator[Engine]:
    engine = create_engine(SecretStr(migrated("notifier")), application_name="test")
    async with engine.begin() as connection:
        await connection.execute(sql("TRUNCATE endpoint, webhook_message, delivery_attempt, inbox"))
    yield engine
    await engine.dispose()


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with open_sink() as sink:
        yield sink


class Notifier:
    """One process's parts, with a clock that a test turns."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.now = NOW
        self.endpoints = PostgresEndpoints(engine, SEALING)
        self.messages = PostgresMessages(engine)
        self.create = CreateMessages(
            PostgresUnitOfWork(engine, consumer="notifier"),
            lambda swap: f'{{"sequence":{swap.sequence}}}'.encode(),
            clock=self.clock,
        )

    def clock(self) -> datetime:
        return self.now

    async def endpoint(self, url: str, **members: Any) -> Endpoint:
        endpoint = Endpoint(
            **{
                "id": uuid4(),
                "app_id": uuid4(),
                "url": url,
                "environment": "test",
                "wants_updates": False,
                "created_at": NOW,
                "enabled_from": NOW,
                "disabled_at": None,
                "disabled_reason": None,
                "failing_since": None,
                **members,
            }
        )
        await self.endpoints.add(endpoint, secret=to_secret(endpoint.id.bytes * 2))
        return endpoint

    async def tell(self, *swaps: SwapChanged) -> None:
        await self.create([sealed(swap) for swap in swaps])

    @asynccontextmanager
    async def delivering(
        self, *, seconds: float = 5, windows: Windows | None = None
    ) -> AsyncIterator[DeliverMessages]:
        """Deliver in the background, as the service does."""
        connector = guarded_connector(allow_loopback=True)
        sender = HttpSender(connector, timeout=timedelta(seconds=seconds))
        due, ended = Wake(), Wake()
        deliver = DeliverMessages(
            PostgresDeliveries(self.engine, SEALING),
            sender,
            windows or Windows(total_max=64, endpoint_max=8),
            due=due,
            ended=ended,
            attempt_timeout=timedelta(seconds=seconds),
            clock=self.clock,
            new_id=uuid4,
            randbelow=lambda _: 0,
        )

        async def rounds(work: Callable[[], Awaitable[int]], wake: Wake) -> None:
            while True:
                if not await work():
                    await wake.wait(FAST)

        tasks = [
            asyncio.create_task(rounds(deliver.begin_due, due)),
            asyncio.create_task(rounds(deliver.record_ended, ended)),
        ]
        try:
            yield deliver
        finally:
            for task in tasks:
                await cancelled(task)
            await deliver.finish()
            await sender.close()

    async def claim_and_die(self, *, seconds: int) -> Sequence[Claimed]:
        """Claim what is due, as a process that never says what became of it."""
        return await PostgresDeliveries(self.engine, SEALING).claim(
            at=self.now,
            until=self.now + timedelta(seconds=seconds),
            claim=uuid4(),
            free=9,
            rooms={},
            first_room=9,
        )

    async def rows(self) -> list[Any]:
        async with self.engine.connect() as connection:
            return list(
                await connection.execute(
                    sql("SELECT * FROM webhook_message ORDER BY sequence, endpoint_id")
                )
            )

    async def until(self, *states: str) -> list[Any]:
        """Wait until the messages are in these states."""
        async with asyncio.timeout(20):
            while sorted(row.state for row in await self.rows()) != sorted(states):  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # only the database knows
        return await self.rows()

    async def until_attempted(self, number: int) -> None:
        async with asyncio.timeout(20):
            while sum(row.attempts for row in await self.rows()) < number:  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # only the database knows

    async def listed(self, endpoint: Endpoint) -> Endpoint:
        (found,) = [e for e in await self.endpoints.list_endpoints(None) if e.id == endpoint.id]
        return found


@pytest.fixture
def notifier(engine: Engine) -> Notifier:
    return Notifier(engine)


class TestCreating:
    async def test_makes_one_message_per_endpoint_and_change(self, notifier: Notifier) -> None:
        app = uuid4()
        mine = [await notifier.endpoint("http://a.example", app_id=app) for _ in range(2)]
        await notifier.endpoint("http://b.example")
        swap = a_swap(app_id=app)

        await notifier.tell(swap)
        await notifier.tell(swap)

        rows = await notifier.rows()
        assert {row.endpoint_id for row in rows} == {endpoint.id for endpoint in mine}
        assert len({row.id for row in rows}) == 2
        assert all(row.id.startswith("msg_") for row in rows)

    async def test_tells_progress_to_the_endpoint_that_wants_it(self, notifier: Notifier) -> None:
        app = uuid4()
        await notifier.endpoint("http://a.example", app_id=app)
        wants = await notifier.endpoint("http://b.example", app_id=app, wants_updates=True)

        await notifier.tell(a_swap(app_id=app, previous_status="user_transfer_pending"))

        (row,) = await notifier.rows()
        assert (row.endpoint_id, row.event_type) == (wants.id, "swap.updated")

    async def test_keeps_the_first_bytes_of_a_change(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        swap = a_swap(app_id=endpoint.app_id)
        await notifier.tell(swap)
        async with notifier.engine.begin() as connection:
            await connection.execute(sql("TRUNCATE inbox"))
        another = CreateMessages(
            PostgresUnitOfWork(notifier.engine, consumer="notifier"),
            lambda _: b"other bytes",
            clock=notifier.clock,
        )

        await another([sealed(swap)])

        (row,) = await notifier.rows()
        assert row.body == b'{"sequence":1}'

    async def test_leaves_out_what_happened_before_the_endpoint(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example", enabled_from=NOW + DAY)

        await notifier.tell(a_swap(app_id=endpoint.app_id, changed_at=NOW))

        assert await notifier.rows() == []


class TestDelivering:
    async def test_delivers_what_was_stored_and_signed(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id, sequence=3))
            (received,) = await sink.until(1)
            (row,) = await notifier.until("delivered")

        assert received.body == b'{"sequence":3}'
        assert (received.id, row.attempts) == (row.id, 1)
        assert received.headers["webhook-event-type"] == "swap.user_transfer_pending"

    async def test_repeats_the_same_id_and_bytes_when_the_answer_was_lost(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", hang_up))

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            await notifier.until_attempted(1)
            sink.at("/hooks", answering(200))
            notifier.now += timedelta(seconds=5)
            first, second = await sink.until(2)
            await notifier.until("delivered")

        assert (first.id, first.body) == (second.id, second.body)
        earlier, later = (int(r.headers["svix-timestamp"]) for r in (first, second))
        assert later - earlier == 5

    async def test_follows_the_schedule_and_then_gives_up(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            for attempts, seconds in enumerate([5, 300, 1800, 7200, 18000, 36000, 36000], 1):
                await notifier.until_attempted(attempts)
                (row,) = await notifier.rows()
                assert row.due_at == notifier.now + timedelta(seconds=seconds)
                notifier.now = row.due_at
            await notifier.until("failed")

        (shown,) = await notifier.messages.list_of_swap(row.swap_id)
        assert len(sink.received) == 8
        assert [entry["http_status"] for entry in shown["log"]] == [500] * 8

    async def test_a_dead_and_a_slow_endpoint_cost_the_others_nothing(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        dead = await notifier.endpoint(sink.at("/dead", never_answer))
        good = await notifier.endpoint(sink.at("/good"))
        await notifier.tell(
            *(a_swap(app_id=dead.app_id) for _ in range(200)),
            *(a_swap(app_id=good.app_id) for _ in range(200)),
        )

        async with notifier.delivering(seconds=15, windows=Windows(total_max=16, endpoint_max=8)):
            await asyncio.wait_for(sink.until(200, "/good"), 10)

        assert len(sink.by_path()["/dead"]) <= 8

    async def test_is_shared_by_replicas_without_sending_twice(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        await notifier.tell(*(a_swap(app_id=endpoint.app_id) for _ in range(100)))

        async with notifier.delivering(), notifier.delivering():
            await notifier.until(*["delivered"] * 100)

        assert len(sink.received) == len({received.id for received in sink.received}) == 100

    async def test_takes_over_what_a_dead_process_had_claimed(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        await notifier.tell(a_swap(app_id=endpoint.app_id))
        lost = await notifier.claim_and_die(seconds=30)

        async with notifier.delivering() as deliver:
            assert await deliver.begin_due() == 0
            notifier.now += timedelta(seconds=30)
            (received,) = await sink.until(1)
            await notifier.until("delivered")

        assert (received.id, received.body) == (lost[0].message_id, lost[0].body)


class TestEndpoints:
    async def test_one_that_is_gone_gets_nothing_more(self, notifier: Notifier, sink: Sink) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(410)))
        gone = Windows(total_max=1, endpoint_max=1)
        await notifier.tell(*(a_swap(app_id=endpoint.app_id) for _ in range(3)))

        async with notifier.delivering(windows=gone):
            await notifier.until("failed", "discarded", "discarded")
            await notifier.tell(a_swap(app_id=endpoint.app_id))

        assert len(sink.received) == 1
        assert (await notifier.listed(endpoint)).disabled_reason == "gone"

    async def test_one_that_fails_for_five_days_is_disabled(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await notifier.until_attempted(1)
            failing_since = (await notifier.listed(endpoint)).failing_since
            notifier.now += 5 * DAY
            await notifier.until("failed")

        assert failing_since == NOW
        assert (await notifier.listed(endpoint)).disabled_reason == "failing"

    async def test_one_success_ends_its_failing(self, notifier: Notifier, sink: Sink) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await notifier.until_attempted(1)
            sink.at("/hooks", answering(200))
            notifier.now += timedelta(seconds=5)
            await notifier.until("delivered")

        assert (await notifier.listed(endpoint)).failing_since is None

    async def test_one_disabled_while_a_retry_waits_is_not_sent_to(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering() as deliver:
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await notifier.until_attempted(1)
            await notifier.endpoints.disable(
                endpoint.id, reason=DisabledReason.OPERATOR, at=notifier.now
            )
            notifier.now += DAY
            await notifier.until("discarded")
            assert await deliver.begin_due() == 0

        assert len(sink.received) == 1

    async def test_one_disabled_while_an_attempt_is_out_is_not_tried_again(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        go_on = asyncio.Event()

        async def hold(_: web.Request) -> web.StreamResponse:
            await go_on.wait()
            return web.Response(status=500)

        endpoint = await notifier.endpoint(sink.at("/hooks", hold))

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            await notifier.endpoints.disable(
                endpoint.id, reason=DisabledReason.OPERATOR, at=notifier.now
            )
            go_on.set()
            await notifier.until("discarded")

    async def test_one_disabled_while_an_attempt_is_out_still_hears_that_it_succeeded(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        go_on = asyncio.Event()

        async def hold(_: web.Request) -> web.StreamResponse:
            await go_on.wait()
            return web.Response(status=204)

        endpoint = await notifier.endpoint(sink.at("/hooks", hold))

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            await notifier.endpoints.disable(
                endpoint.id, reason=DisabledReason.OPERATOR, at=notifier.now
            )
            go_on.set()
            (row,) = await notifier.until("delivered")

        (shown,) = await notifier.messages.list_of_swap(row.swap_id)
        assert [entry["http_status"] for entry in shown["log"]] == [204]

    async def test_what_a_dead_process_had_claimed_of_a_disabled_one_is_discarded(
        self, notifier: Notifier
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        other = await notifier.endpoint("http://b.example")
        await notifier.tell(*(a_swap(app_id=one.app_id) for one in (endpoint, other)))
        await notifier.claim_and_die(seconds=30)
        discard = DiscardMessages(notifier.messages, clock=notifier.clock)
        await notifier.endpoints.disable(endpoint.id, reason=DisabledReason.OPERATOR, at=NOW)

        await discard()
        before = await notifier.rows()
        notifier.now += timedelta(seconds=30)
        await discard()
        after = await notifier.rows()

        assert [row.state for row in before] == ["waiting", "waiting"]
        assert {row.endpoint_id: row.state for row in after} == {
            endpoint.id: "discarded",
            other.id: "waiting",
        }

    async def test_one_enabled_again_is_not_sent_what_a_dead_process_had_claimed(
        self, notifier: Notifier
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.tell(a_swap(app_id=endpoint.app_id))
        await notifier.claim_and_die(seconds=30)
        later = NOW + timedelta(seconds=30)
        await notifier.endpoints.disable(endpoint.id, reason=DisabledReason.OPERATOR, at=NOW)

        await notifier.endpoints.enable(endpoint.id, at=later)

        (row,) = await notifier.rows()
        assert row.state == "discarded"

    async def test_a_rotated_secret_signs_beside_the_old_one_for_a_day(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        old, fresh = to_secret(endpoint.id.bytes * 2), to_secret(b"f" * 32)
        rotate = RotateSecret(
            notifier.endpoints, clock=notifier.clock, random_bytes=lambda n: b"f" * n
        )

        async with notifier.delivering():
            assert await rotate(endpoint.id) == fresh
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            notifier.now += DAY
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            during, after = await sink.until(2)

        assert len(during.headers["svix-signature"].split()) == 2
        assert len(after.headers["svix-signature"].split()) == 1
        for received, secret in ((during, old), (during, fresh), (after, fresh)):
            _verify(secret, received.body, received.headers)
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            _verify(old, after.body, after.headers)


class TestReplaying:
    async def test_sends_the_same_message_again(self, notifier: Notifier, sink: Sink) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        replay = ReplayMessages(notifier.messages, clock=notifier.clock)

        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            (row,) = await notifier.until("delivered")
            assert await replay(row.id)
            first, second = await sink.until(2)

        assert (first.id, first.body) == (second.id, second.body)

    async def test_needs_an_enabled_endpoint(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        replay = ReplayMessages(notifier.messages, clock=notifier.clock)
        await notifier.tell(a_swap(app_id=endpoint.app_id))
        (row,) = await notifier.rows()
        await notifier.endpoints.disable(endpoint.id, reason=DisabledReason.OPERATOR, at=NOW)

        refused = await replay(row.id)
        await notifier.endpoints.enable(endpoint.id, at=NOW)

        assert not refused
        assert await replay(row.id)
        assert not await replay("msg_unknown")


class TestForgetting:
    async def test_deletes_only_what_ended_long_ago(self, notifier: Notifier, sink: Sink) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        forget = ForgetMessages(notifier.messages, keep=30 * DAY, clock=notifier.clock)
        async with notifier.delivering():
            await notifier.tell(a_swap(app_id=endpoint.app_id))
            await notifier.until("delivered")

        await forget()
        kept = await notifier.rows()
        notifier.now += 31 * DAY
        await notifier.tell(a_swap(app_id=endpoint.app_id, sequence=9))
        await forget()

        assert len(kept) == 1
        assert [row.sequence for row in await notifier.rows()] == [9]


class TestTables:
    async def test_equal_what_the_migrations_make(self, engine: Engine) -> None:
        documented = {
            (table.name, column.name): (
                str(column.type.compile(postgresql.dialect())).lower(),
                bool(column.nullable),
            )
            for table in METADATA.tables.values()
            for column in table.columns
        }

        async with engine.connect() as connection:
            rows = await connection.execute(COLUMNS, {"tables": list(METADATA.tables)})
            migrated = {(r.table, r.column): (r.type, not r.required) for r in rows}

        assert documented == migrated


COLUMNS = sql("""
SELECT relname AS "table", attname AS "column",
       format_type(atttypid, atttypmod) AS type, attnotnull AS required
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relname = ANY(:tables) AND relnamespace = current_schema()::regnamespace
  AND attnum > 0 AND NOT attisdropped
""")


def _verify(secret: str, body: bytes, headers: dict[str, str]) -> None:
    """Verify as a receiver does, at whatever time the message says that it is."""
    webhook = standardwebhooks.Webhook(secret)
    timestamp = datetime.fromtimestamp(int(headers["webhook-timestamp"]), NOW.tzinfo)
    expected = webhook.sign(headers["webhook-id"], timestamp, body.decode())
    if expected not in headers["webhook-signature"].split():
        raise standardwebhooks.WebhookVerificationError
