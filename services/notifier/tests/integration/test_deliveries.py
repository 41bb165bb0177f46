"""From a swap's change to a signed request, on a real PostgreSQL and real sockets."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
import standardwebhooks
from aiohttp import web

from services.notifier.tests.factories import NOW, SEALING, a_swap, an_answer, seal_swap
from services.notifier.tests.process_parts import DAY, KEEP, Notifier
from services.notifier.tests.sink import Sink, answering, close_connection, never_answer
from swap_notifier.adapters.deliveries import PostgresDeliveries
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.domain.endpoints import to_secret
from swap_notifier.domain.outcomes import DisabledReason, outcome_of
from swap_notifier.domain.windows import Windows
from swap_notifier.usecases.create_messages import CreateMessages
from swap_notifier.usecases.discard_messages import DiscardMessages
from swap_notifier.usecases.forget_messages import ForgetMessages
from swap_notifier.usecases.measure_queue import MeasureQueue
from swap_notifier.usecases.rotate_secret import RotateSecret
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import REGISTRY

pytestmark = pytest.mark.connected


class TestCreating:
    async def test_makes_one_message_per_endpoint_and_change(self, notifier: Notifier) -> None:
        app = uuid4()
        mine = [await notifier.endpoint("http://a.example", app_id=app) for _ in range(2)]
        await notifier.endpoint("http://b.example")
        swap = a_swap(app_id=app)

        await notifier.consume(swap)
        await notifier.consume(swap)

        rows = await notifier.rows()
        assert {row.endpoint_id for row in rows} == {endpoint.id for endpoint in mine}
        assert len({row.id for row in rows}) == 2
        assert all(row.id.startswith("msg_") for row in rows)

    async def test_sends_progress_to_an_endpoint_with_updates(self, notifier: Notifier) -> None:
        app = uuid4()
        await notifier.endpoint("http://a.example", app_id=app)
        wants = await notifier.endpoint("http://b.example", app_id=app, wants_updates=True)

        await notifier.consume(a_swap(app_id=app, previous_status="user_transfer_pending"))

        (row,) = await notifier.rows()
        assert (row.endpoint_id, row.event_type) == (wants.id, "swap.updated")

    async def test_keeps_the_first_bytes_of_a_change(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        swap = a_swap(app_id=endpoint.app_id)
        await notifier.consume(swap)
        async with notifier.engine.begin() as connection:
            await connection.execute(sql("TRUNCATE inbox"))
        another = CreateMessages(
            PostgresUnitOfWork(notifier.engine, consumer="notifier"),
            lambda _: b"other bytes",
            keep=KEEP,
            clock=notifier.clock,
        )

        await another([seal_swap(swap)])

        (row,) = await notifier.rows()
        assert row.body == b'{"sequence":1}'

    async def test_leaves_out_what_happened_before_the_endpoint(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example", created_at=NOW + DAY)

        await notifier.consume(a_swap(app_id=endpoint.app_id, changed_at=NOW))

        assert await notifier.rows() == []


class TestDelivering:
    async def test_delivers_what_was_stored_and_signed(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id, sequence=3))
            (received,) = await sink.until(1)
            (row,) = await notifier.until("delivered")

        assert received.body == b'{"sequence":3}'
        assert (received.id, row.attempts) == (row.id, 1)
        assert received.headers["webhook-event-type"] == "swap.user_transfer_pending"

    @pytest.mark.fault("N2")
    async def test_n2_repeats_the_same_id_and_bytes_when_the_answer_was_lost(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", close_connection))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            await notifier.until_attempted(1)
            sink.at("/hooks", answering(200))
            notifier.now += timedelta(seconds=5)
            first, second = await sink.until(2)
            await notifier.until("delivered")

        assert (first.id, first.body) == (second.id, second.body)
        earlier, later = (int(r.headers["svix-timestamp"]) for r in (first, second))
        assert later - earlier == 5

    @pytest.mark.fault("N1")
    async def test_n1_follows_the_schedule_and_then_abandons(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            for attempts, seconds in enumerate([5, 300, 1800, 7200, 18000, 36000, 36000], 1):
                await notifier.until_attempted(attempts)
                (row,) = await notifier.rows()
                assert row.due_at == notifier.now + timedelta(seconds=seconds)
                notifier.now = row.due_at
            await notifier.until("failed")

        (shown,) = await notifier.messages.list_of_swap(row.swap_id)
        assert len(sink.received) == 8
        assert [entry["http_status"] for entry in shown["log"]] == [500] * 8

    @pytest.mark.fault("N1")
    async def test_n1_dead_and_slow_endpoints_do_not_delay_others(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        dead = await notifier.endpoint(sink.at("/dead", never_answer))
        good = await notifier.endpoint(sink.at("/good"))
        await notifier.consume(
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
        await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(100)))

        async with notifier.delivering(), notifier.delivering():
            await notifier.until(*["delivered"] * 100)

        assert len(sink.received) == len({received.id for received in sink.received}) == 100

    async def test_takes_over_what_a_dead_process_had_claimed(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        lost = await notifier.claim_and_die(seconds=30)

        async with notifier.delivering() as deliver:
            assert await deliver.begin_due() == 0
            notifier.now += timedelta(seconds=30)
            (received,) = await sink.until(1)
            await notifier.until("delivered")

        assert (received.id, received.body) == (lost[0].message_id, lost[0].body)


class TestEndpoints:
    @pytest.mark.fault("N15")
    async def test_n15_endpoint_that_answers_gone_gets_no_more_messages(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(410)))
        gone = Windows(total_max=1, endpoint_max=1)
        await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(3)))

        async with notifier.delivering(windows=gone):
            await notifier.until("failed", "discarded", "discarded")
            await notifier.consume(a_swap(app_id=endpoint.app_id))

        assert len(sink.received) == 1
        assert (await notifier.find_endpoint(endpoint)).disabled_reason == "gone"

    @pytest.mark.fault("N12")
    async def test_n12_one_that_fails_for_five_days_is_disabled(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await notifier.until_attempted(1)
            failing_since = (await notifier.find_endpoint(endpoint)).failing_since
            notifier.now += 5 * DAY
            await notifier.until("failed")

        assert failing_since == NOW
        assert (await notifier.find_endpoint(endpoint)).disabled_reason == "failing"

    @pytest.mark.parametrize("at_once", [True, False])
    @pytest.mark.fault("N12")
    async def test_n12_recovered_endpoint_is_not_disabled_for_another_failed_message(
        self, notifier: Notifier, sink: Sink, *, at_once: bool
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))
        await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(2)))
        async with notifier.delivering():
            await notifier.until_attempted(2)
        notifier.now += 5 * DAY
        one, other = await notifier.claim_and_die(seconds=30)
        delivered_outcome = outcome_of(one, an_answer(204), at=notifier.now, jitter_ppm=0)
        refused = outcome_of(other, an_answer(503), at=notifier.now, jitter_ppm=0)
        assert refused.disables

        deliveries = PostgresDeliveries(notifier.engine, SEALING)
        for outcomes in (
            [[delivered_outcome, refused]] if at_once else [[delivered_outcome], [refused]]
        ):
            written = await deliveries.record(outcomes)

        assert written[-1].disables is None
        assert (await notifier.find_endpoint(endpoint)).disabled_at is None
        [waiting] = [row for row in await notifier.rows() if row.state == "waiting"]
        assert (waiting.id, waiting.attempts) == (other.message_id, 2)
        assert waiting.due_at == notifier.now + timedelta(minutes=5)

    @pytest.mark.fault("N12")
    async def test_n12_one_that_answers_410_is_disabled_after_any_history(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))
        await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(3)))
        async with notifier.delivering():
            await notifier.until_attempted(3)
        notifier.now += 5 * DAY
        claimed = await notifier.claim_and_die(seconds=30)
        outcomes = [
            outcome_of(one, an_answer(status), at=notifier.now, jitter_ppm=0)
            for one, status in zip(claimed, (204, 503, 410), strict=True)
        ]

        await PostgresDeliveries(notifier.engine, SEALING).record(outcomes)

        assert (await notifier.find_endpoint(endpoint)).disabled_reason == "gone"

    async def test_success_ends_the_failing_state_of_an_endpoint(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await notifier.until_attempted(1)
            sink.at("/hooks", answering(200))
            notifier.now += timedelta(seconds=5)
            await notifier.until("delivered")

        assert (await notifier.find_endpoint(endpoint)).failing_since is None

    @pytest.mark.fault("N13")
    async def test_n13_one_disabled_while_a_retry_waits_is_not_sent_to(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering() as deliver:
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await notifier.until_attempted(1)
            await notifier.endpoints.disable(
                endpoint.id, reason=DisabledReason.OPERATOR, at=notifier.now
            )
            notifier.now += DAY
            await notifier.until("discarded")
            assert await deliver.begin_due() == 0

        assert len(sink.received) == 1

    @pytest.mark.fault("N13")
    async def test_n13_one_disabled_while_an_attempt_is_out_is_not_tried_again(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        go_on = asyncio.Event()

        async def hold(_: web.Request) -> web.StreamResponse:
            await go_on.wait()
            return web.Response(status=500)

        endpoint = await notifier.endpoint(sink.at("/hooks", hold))

        async with notifier.delivering() as deliver:
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            await notifier.endpoints.disable(
                endpoint.id, reason=DisabledReason.OPERATOR, at=notifier.now
            )
            go_on.set()
            (row,) = await notifier.until("discarded")
            notifier.now += DAY
            assert await deliver.begin_due() == 0

        assert (row.attempts, len(sink.received)) == (1, 1)

    async def test_success_of_an_endpoint_disabled_meanwhile_is_recorded(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        go_on = asyncio.Event()

        async def hold(_: web.Request) -> web.StreamResponse:
            await go_on.wait()
            return web.Response(status=204)

        endpoint = await notifier.endpoint(sink.at("/hooks", hold))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            await notifier.endpoints.disable(
                endpoint.id, reason=DisabledReason.OPERATOR, at=notifier.now
            )
            go_on.set()
            (row,) = await notifier.until("delivered")

        (shown,) = await notifier.messages.list_of_swap(row.swap_id)
        assert [entry["http_status"] for entry in shown["log"]] == [204]

    async def test_claims_of_a_dead_process_are_discarded_for_a_disabled_endpoint(
        self, notifier: Notifier
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        other = await notifier.endpoint("http://b.example")
        await notifier.consume(*(a_swap(app_id=one.app_id) for one in (endpoint, other)))
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

    async def test_claims_of_a_dead_process_are_not_sent_after_the_endpoint_is_enabled_again(
        self, notifier: Notifier
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        await notifier.claim_and_die(seconds=30)
        later = NOW + timedelta(seconds=30)
        await notifier.endpoints.disable(endpoint.id, reason=DisabledReason.OPERATOR, at=NOW)

        await notifier.endpoints.enable(endpoint.id, at=later)

        (row,) = await notifier.rows()
        assert row.state == "discarded"

    @pytest.mark.fault("N8")
    async def test_n8_a_rotated_secret_signs_beside_the_old_one_for_a_day(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        old, fresh = to_secret(endpoint.id.bytes * 2), to_secret(b"f" * 32)
        rotate = RotateSecret(
            notifier.endpoints, clock=notifier.clock, random_bytes=lambda n: b"f" * n
        )

        async with notifier.delivering():
            assert await rotate(endpoint.id) == fresh
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            notifier.now += DAY
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            during, after = await sink.until(2)

        assert len(during.headers["svix-signature"].split()) == 2
        assert len(after.headers["svix-signature"].split()) == 1
        for received, secret in ((during, old), (during, fresh), (after, fresh)):
            _verify(secret, received.body, received.headers)
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            _verify(old, after.body, after.headers)

    @pytest.mark.fault("N8")
    async def test_n8_one_that_is_rotated_twice_signs_to_the_end_of_its_day(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        letters = iter((b"l", b"f"))
        # The answer with the first secret was lost, so the receiver uses the old one.
        rotate = RotateSecret(
            notifier.endpoints, clock=notifier.clock, random_bytes=lambda n: next(letters) * n
        )
        secrets = [to_secret(endpoint.id.bytes * 2)]

        async with notifier.delivering():
            for hours in (0, 1):
                notifier.now += timedelta(hours=hours)
                secrets.append(str(await rotate(endpoint.id)))
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await sink.until(1)
            notifier.now = NOW + DAY
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            during, after = await sink.until(2)

        for secret in secrets:
            _verify(secret, during.body, during.headers)
        assert len(after.headers["svix-signature"].split()) == 2
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            _verify(secrets[0], after.body, after.headers)


class TestReplaying:
    async def test_sends_the_same_message_again(self, notifier: Notifier, sink: Sink) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            (row,) = await notifier.until("delivered")
            assert await notifier.replay.one(row.id)
            first, second = await sink.until(2)

        assert (first.id, first.body) == (second.id, second.body)

    async def test_needs_an_enabled_endpoint(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        (row,) = await notifier.rows()
        await notifier.endpoints.disable(endpoint.id, reason=DisabledReason.OPERATOR, at=NOW)

        refused = await notifier.replay.one(row.id)
        await notifier.endpoints.enable(endpoint.id, at=NOW)

        assert not refused
        assert await notifier.replay.one(row.id)
        assert not await notifier.replay.one("msg_unknown")


class TestForgetting:
    async def test_deletes_only_what_ended_long_ago(self, notifier: Notifier, sink: Sink) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        forget = ForgetMessages(notifier.messages, keep=30 * DAY, clock=notifier.clock)
        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await notifier.until("delivered")

        await forget()
        remaining = await notifier.rows()
        notifier.now += 31 * DAY
        await notifier.consume(a_swap(app_id=endpoint.app_id, sequence=9))
        await forget()

        assert len(remaining) == 1
        assert [row.sequence for row in await notifier.rows()] == [9]


def _verify(secret: str, body: bytes, headers: dict[str, str]) -> None:
    """Verify as a receiver does, at the time in the message's header."""
    webhook = standardwebhooks.Webhook(secret)
    timestamp = datetime.fromtimestamp(int(headers["webhook-timestamp"]), NOW.tzinfo)
    expected = webhook.sign(headers["webhook-id"], timestamp, body.decode())
    if expected not in headers["webhook-signature"].split():
        raise standardwebhooks.WebhookVerificationError


class TestMeasuring:
    """The queue's metrics."""

    async def test_a_delivery_is_late_once_it_is_due_and_not_begun(
        self, notifier: Notifier
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        measure = MeasureQueue(notifier.messages, clock=notifier.clock)

        notifier.now = NOW + timedelta(minutes=7)
        await measure()
        assert measured("notifier_overdue_oldest_seconds") == 7 * 60

        await notifier.claim_and_die(seconds=60)
        await measure()
        assert measured("notifier_overdue_oldest_seconds") == 0
        notifier.now += timedelta(seconds=90)
        await measure()
        assert measured("notifier_overdue_oldest_seconds") == 30

        await notifier.switch.disable(endpoint.id)
        await measure()
        assert measured("notifier_overdue_oldest_seconds") == 0

    async def test_an_endpoint_fails_since_its_first_failed_attempt(
        self, notifier: Notifier
    ) -> None:
        enabled = await notifier.endpoint("http://a.example")
        disabled = await notifier.endpoint("http://b.example")
        async with notifier.engine.begin() as connection:
            for endpoint, minutes in ((enabled, 5), (disabled, 50)):
                await connection.execute(
                    sql("UPDATE endpoint SET failing_since = :since WHERE id = :id"),
                    {"since": NOW - timedelta(minutes=minutes), "id": endpoint.id},
                )
        await notifier.switch.disable(disabled.id)

        await MeasureQueue(notifier.messages, clock=notifier.clock)()

        assert measured("notifier_endpoints_failing") == 1
        assert measured("notifier_endpoints_failing_oldest_seconds") == 5 * 60


def measured(name: str) -> float | None:
    return REGISTRY.get_sample_value(f"swap_{name}")
