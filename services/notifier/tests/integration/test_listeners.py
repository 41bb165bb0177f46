"""Listeners: their messages are stored in order and read, and never sent."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from services.notifier.tests.factories import NOW, a_swap
from services.notifier.tests.process_parts import Notifier
from services.notifier.tests.sink import Sink
from swap_notifier.domain.endpoints import LISTENER_URL
from swap_notifier.domain.listing import Window

pytestmark = pytest.mark.connected
SECOND = timedelta(seconds=1)


class TestListeners:
    async def test_store_messages_without_sending_them(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        listener = await notifier.endpoint(LISTENER_URL)
        receiver = await notifier.endpoint(sink.at("/hooks"), app_id=listener.app_id)

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=listener.app_id))
            rows = await notifier.until("delivered", "discarded")

        (stored,) = [row for row in rows if row.endpoint_id == listener.id]
        assert (stored.state, stored.ended_at, stored.attempts) == ("discarded", NOW, 0)
        assert {row.endpoint_id for row in rows} == {listener.id, receiver.id}
        assert len(sink.received) == 1
        assert (await notifier.messages.queue_state(at=NOW + SECOND)).overdue == timedelta(0)

    async def test_store_tests_and_notices_as_well(self, notifier: Notifier) -> None:
        listener = await notifier.endpoint(LISTENER_URL, wants_notices=True)
        other = await notifier.endpoint("http://a.example", app_id=listener.app_id)

        await notifier.messages.add_test(listener.id, message_id="msg_1", body=b"{}", at=NOW)
        await notifier.switch.disable(other.id)

        rows = await notifier.rows()
        assert sorted(row.event_type for row in rows) == ["endpoint.disabled", "webhook.test"]
        assert {(row.state, row.ended_at) for row in rows} == {("discarded", NOW)}

    async def test_show_a_message_that_is_sent_again_as_a_new_one(self, notifier: Notifier) -> None:
        listener = await notifier.endpoint(LISTENER_URL)
        await notifier.messages.add_test(listener.id, message_id="msg_1", body=b"{}", at=NOW)
        notifier.now += SECOND

        assert await notifier.replay.one("msg_1")
        assert await notifier.replay.since(listener.id, NOW, undelivered_only=False) is None

        (row,) = await notifier.rows()
        assert (row.state, row.ended_at) == ("discarded", NOW + SECOND)


class TestOldestFirst:
    async def test_lists_what_ended_in_its_order_by_pages(self, notifier: Notifier) -> None:
        listener = await notifier.endpoint(LISTENER_URL)
        swap_id = uuid4()
        for sequence in (2, 1):  # in one commit: the sequence decides
            await notifier.consume(
                a_swap(app_id=listener.app_id, swap_id=swap_id, sequence=sequence)
            )
        notifier.now += SECOND
        await notifier.consume(
            a_swap(app_id=listener.app_id, sequence=0, changed_at=notifier.now),
        )
        listed = notifier.messages

        parts = [
            await listed.list_of_endpoint(
                listener.id,
                Window(2, offset),
                since=NOW,
                undelivered_only=False,
                oldest_first=True,
            )
            for offset in (0, 2)
        ]

        found = [one["sequence"] for part in parts if part for one in part.messages]
        assert found == [1, 2, 0]
        assert [(part.total, part.has_more) for part in parts if part] == [(3, True), (3, False)]

    async def test_leaves_out_what_waits(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        listed = notifier.messages

        part = await listed.list_of_endpoint(
            endpoint.id, Window(2, 0), since=NOW, undelivered_only=False, oldest_first=True
        )

        assert part is not None
        assert (part.messages, part.total) == ([], 0)
