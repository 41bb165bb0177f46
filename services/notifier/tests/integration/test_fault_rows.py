"""Faults between the notifier and a receiver. Other rows are in the files of their subject."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
import standardwebhooks
from aiohttp import web

from services.notifier.tests.factories import NOW, SECRET, a_swap
from services.notifier.tests.process_parts import DAY, Notifier
from services.notifier.tests.sink import Sink, answering
from swap_notifier.adapters.database_clock import DatabaseClock
from swap_notifier.adapters.signing import signed_headers
from swap_notifier.domain.outcomes import DisabledReason
from swap_notifier.domain.windows import Windows
from swap_notifier.usecases.check_clock import CheckClock
from swap_runtime.clock import utc_now
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import REGISTRY

pytestmark = pytest.mark.connected

INSERT_MANY = sql("""
INSERT INTO webhook_message (id, swap_id, endpoint_id, sequence, app_id, event_type, body, state,
                             attempts, due_at, created_at)
SELECT 'msg_' || n, gen_random_uuid(), :endpoint_id, 1, :app_id, 'swap.completed', '{}', 'waiting',
       0, :at, :at
FROM generate_series(1, :number) AS n
""")


class TestRows:
    @pytest.mark.fault("N1")
    async def test_n1_a_failure_is_tried_again_while_others_are_served(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        failing = await notifier.endpoint(sink.at("/failing", answering(500)))
        good = await notifier.endpoint(sink.at("/good"))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=failing.app_id), a_swap(app_id=good.app_id))
            await sink.until(1, "/good")
            await notifier.until("delivered", "waiting")
            sink.at("/failing", answering(200))
            notifier.now += timedelta(seconds=5)
            await notifier.until("delivered", "delivered")

        first, second = sink.by_path()["/failing"]
        assert (first.id, first.body) == (second.id, second.body)

    @pytest.mark.fault("N9")
    async def test_n9_a_wrong_clock_is_reported(self, notifier: Notifier) -> None:
        def clock_ten_minutes_ahead() -> datetime:
            return utc_now() + timedelta(minutes=10)

        await CheckClock(DatabaseClock(notifier.engine), clock=clock_ten_minutes_ahead)()

        skew = REGISTRY.get_sample_value("swap_notifier_clock_skew_seconds")
        assert skew == pytest.approx(600, abs=5)

    @pytest.mark.fault("N9")
    async def test_n9_stale_and_early_messages_are_refused_by_receivers(self) -> None:
        for minutes in (-10, 10):
            moment = utc_now() + timedelta(minutes=minutes)
            headers = signed_headers("msg_1", b"{}", [SECRET], at=moment)
            with pytest.raises(standardwebhooks.WebhookVerificationError):
                standardwebhooks.Webhook(SECRET).verify(b"{}", headers)

    @pytest.mark.fault("N11")
    async def test_n11_a_late_retry_has_its_lower_sequence(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        async def refuse_first_request(request: web.Request) -> web.StreamResponse:
            is_first = json.loads(await request.read())["sequence"] == 1
            is_retry = len(sink.received) > 2
            return web.Response(status=503 if is_first and not is_retry else 204)

        endpoint = await notifier.endpoint(sink.at("/hooks", refuse_first_request))
        swap = a_swap(app_id=endpoint.app_id, sequence=1)
        later = swap.model_copy(update={"sequence": 2, "status": "ls_transfer_pending"})

        async with notifier.delivering():
            await notifier.consume(swap)
            await notifier.until_attempted(1)
            await notifier.consume(later)
            await notifier.until("delivered", "waiting")
            notifier.now += timedelta(seconds=5)
            await notifier.until("delivered", "delivered")

        order = [json.loads(received.body)["sequence"] for received in sink.received]
        assert order == [1, 2, 1]

    @pytest.mark.fault("N12")
    async def test_n12_a_failing_endpoint_is_disabled_notified_enabled_and_replayed(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        app = uuid4()
        dead = await notifier.endpoint(sink.at("/dead", answering(500)), app_id=app)
        await notifier.endpoint(sink.at("/watching"), app_id=app, wants_notices=True)

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=app, sequence=1))
            await notifier.until_attempted(2)
            notifier.now += 5 * DAY
            await sink.until(2, "/watching")
            await notifier.until("delivered", "delivered", "failed")
            await notifier.consume(a_swap(app_id=app, sequence=2, changed_at=notifier.now))
            await sink.until(3, "/watching")
            sink.at("/dead", answering(204))
            notifier.now += DAY
            before = len(sink.by_path()["/dead"])
            assert await notifier.switch.enable(dead.id)
            assert await notifier.replay.since(dead.id, NOW, undelivered_only=True) == 2
            made_up = (await sink.until(before + 2, "/dead"))[before:]

        (notice,) = [
            received
            for received in sink.by_path()["/watching"]
            if received.headers["webhook-event-type"] == "endpoint.disabled"
        ]
        assert json.loads(notice.body)["endpoint"] == {
            "id": str(dead.id),
            "url": dead.url,
            "disabled_at": (NOW + 5 * DAY).isoformat(),
            "disabled_reason": "failing",
            "failing_since": NOW.isoformat(),
        }
        assert {json.loads(one.body)["sequence"] for one in made_up} == {1, 2}

    @pytest.mark.fault("N13")
    async def test_n13_one_disabled_while_a_replay_waits_is_not_sent_to(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        (row,) = await notifier.rows()
        assert await notifier.replay.one(row.id)
        await notifier.switch.disable(endpoint.id)

        async with notifier.delivering() as deliver:
            assert await deliver.begin_due() == 0

        (row,) = await notifier.rows()
        assert (row.state, sink.received) == ("discarded", [])

    @pytest.mark.fault("N14")
    async def test_n14_the_flood_of_one_app_does_not_delay_another(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        loud = await notifier.endpoint(sink.at("/loud"))
        quiet = await notifier.endpoint(sink.at("/quiet"))
        async with notifier.engine.begin() as connection:
            values = {"endpoint_id": loud.id, "app_id": loud.app_id, "at": NOW, "number": 100_000}
            await connection.execute(INSERT_MANY, values)

        async with notifier.delivering(windows=Windows(total_max=16, endpoint_max=8)):
            await sink.until(1, "/loud")
            await notifier.consume(a_swap(app_id=quiet.app_id))
            async with asyncio.timeout(10):
                await sink.until(1, "/quiet")
            passed = len(sink.by_path()["/loud"])
            # A cascade would be slow; the tables are emptied before the next test anyway.
            await notifier.switch.disable(loud.id)

        assert passed < 50_000

    @pytest.mark.fault("N15")
    async def test_n15_more_time_is_given_within_twice_the_pause(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(429, retry_after="3600")))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await notifier.until_attempted(1)

        (row,) = await notifier.rows()
        assert row.due_at == NOW + timedelta(seconds=10)

    @pytest.mark.fault("N17")
    async def test_n17_every_receiver_gets_only_its_own_swaps(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        dice = random.Random(17)
        apps = [uuid4() for _ in range(5)]
        endpoints = [
            await notifier.endpoint(sink.at(f"/{n}"), app_id=apps[n % 5]) for n in range(8)
        ]
        swaps = [a_swap(app_id=dice.choice(apps), sequence=n + 1) for n in range(60)]
        sequences_by_path = {
            f"/{n}": {swap.sequence for swap in swaps if swap.app_id == endpoint.app_id}
            for n, endpoint in enumerate(endpoints)
        }

        async with notifier.delivering():
            await notifier.consume(*swaps)
            await sink.until(sum(map(len, sequences_by_path.values())))

        assert {
            path: {json.loads(received.body)["sequence"] for received in messages}
            for path, messages in sink.by_path().items()
        } == sequences_by_path

    @pytest.mark.fault("N17")
    async def test_n17_a_row_of_another_app_is_not_sent_either(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        async with notifier.engine.begin() as connection:
            await connection.execute(sql("UPDATE webhook_message SET app_id = gen_random_uuid()"))

        async with notifier.delivering() as deliver:
            assert await deliver.begin_due() == 0

        assert sink.received == []

    @pytest.mark.fault("N17")
    async def test_n17_notice_is_sent_only_to_endpoints_of_the_same_app(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        lost = await notifier.endpoint(sink.at("/lost"))
        await notifier.endpoint(sink.at("/other"), wants_notices=True)

        assert await notifier.endpoints.disable(lost.id, reason=DisabledReason.OPERATOR, at=NOW)

        assert await notifier.rows() == []
