"""Replays, tests and the log of attempts, by orders of an operator."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from services.notifier.tests.factories import ETH, NOW, a_catalogue_document, a_swap
from services.notifier.tests.process_parts import DAY, KEEP, Notifier
from services.notifier.tests.sink import Sink, answering
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue_document import catalogue_from
from swap_notifier.adapters.messages import PostgresMessages
from swap_notifier.app import renderer
from swap_notifier.domain.listing import MessagePage, Place, Window
from swap_notifier.domain.windows import Windows
from swap_notifier.usecases.send_test import SendTest
from swap_runtime.public_catalogue import public_catalogue

pytestmark = pytest.mark.connected


def a_catalogue() -> PublicCatalogue:
    return public_catalogue(catalogue_from(a_catalogue_document(), to_address=str))


async def shown(
    listed: PostgresMessages,
    endpoint_id: UUID,
    *,
    undelivered_only: bool = False,
    limit: int = 100,
    offset: int = 0,
) -> MessagePage:
    part = await listed.list_of_endpoint(
        endpoint_id, Window(limit, offset), since=NOW, undelivered_only=undelivered_only
    )
    assert part is not None
    return part


class TestReplayingSince:
    async def test_sends_everything_since_then_in_its_order(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))

        async with notifier.delivering(windows=Windows(total_max=1, endpoint_max=1)):
            for sequence in (1, 2, 3):
                await notifier.consume(
                    a_swap(app_id=endpoint.app_id, sequence=sequence, changed_at=notifier.now)
                )
                await notifier.until(*["delivered"] * sequence)
                notifier.now += DAY
            assert await notifier.replay.since(endpoint.id, NOW + DAY, undelivered_only=False) == 2
            received = await sink.until(5)
            await notifier.until(*["delivered"] * 3)

        assert [json.loads(one.body)["sequence"] for one in received] == [1, 2, 3, 2, 3]
        assert [one.id for one in received[1:3]] == [one.id for one in received[3:]]

    async def test_excludes_delivered_messages_on_request(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id))
            await notifier.until("delivered")

            notifier.now += DAY
            assert await notifier.replay.since(endpoint.id, NOW, undelivered_only=True) == 0

    async def test_brings_back_what_happened_while_it_was_disabled(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        await notifier.switch.disable(endpoint.id)
        notifier.now += DAY
        missed = a_swap(app_id=endpoint.app_id, changed_at=notifier.now)
        await notifier.consume(missed)
        notifier.now += DAY
        await notifier.switch.enable(endpoint.id)
        late_swap = a_swap(app_id=endpoint.app_id, changed_at=missed.changed_at, sequence=2)
        await notifier.consume(late_swap)
        before = await notifier.rows()
        notifier.now += DAY

        async with notifier.delivering():
            assert await notifier.replay.since(endpoint.id, NOW, undelivered_only=True) == 2
            await notifier.until("delivered", "delivered")

        assert [row.state for row in before] == ["discarded", "discarded"]

    async def test_stores_no_messages_of_an_endpoint_disabled_long_ago(
        self, notifier: Notifier
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id)
        notifier.now += KEEP

        await notifier.consume(a_swap(app_id=endpoint.app_id, changed_at=notifier.now))

        assert await notifier.rows() == []

    async def test_needs_an_enabled_endpoint(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id)

        assert await notifier.replay.since(endpoint.id, NOW, undelivered_only=False) is None
        assert await notifier.replay.since(uuid4(), NOW, undelivered_only=False) is None

    async def test_goes_through_more_than_it_takes_at_once(
        self, notifier: Notifier, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("swap_notifier.usecases.replay_messages.AT_ONCE_MAX", 2)
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id)
        await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(5)))
        notifier.now += timedelta(seconds=1)
        await notifier.switch.enable(endpoint.id)

        assert await notifier.replay.since(endpoint.id, NOW, undelivered_only=False) == 5

        await notifier.until(*["waiting"] * 5)


class TestTesting:
    async def test_sends_the_true_shape_about_no_existing_swap(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        send_test = SendTest(
            notifier.messages,
            renderer(a_catalogue()),
            asset=ETH,
            clock=notifier.clock,
            new_id=uuid4,
        )

        async with notifier.delivering():
            message_id = await send_test(endpoint.id)
            (received,) = await sink.until(1)
            await notifier.until("delivered")

        payload = json.loads(received.body)
        assert received.id == message_id
        assert received.headers["webhook-event-type"] == "webhook.test"
        assert set(payload) == {"swap", "quote", "deposit_actions"}
        assert payload["swap"]["id"] == "00000000-0000-0000-0000-000000000000"

    async def test_tests_no_endpoint_that_is_disabled(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id)
        render = renderer(a_catalogue())
        clock = notifier.clock

        send_test = SendTest(notifier.messages, render, asset=ETH, clock=clock, new_id=uuid4)

        assert await send_test(endpoint.id) is None


class TestAttemptLog:
    async def test_shows_every_attempt_of_what_an_endpoint_was_sent(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))
        listed = notifier.messages

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id, sequence=1))
            await notifier.until_attempted(1)
            waiting = await shown(listed, endpoint.id, undelivered_only=True)
            sink.at("/hooks", answering(204))
            notifier.now += timedelta(seconds=5)
            (row,) = await notifier.until("delivered")

        ended = await shown(listed, endpoint.id)
        undelivered = await shown(listed, endpoint.id, undelivered_only=True)
        message = await listed.find(row.id)
        assert message is not None
        first, second = message["log"]
        assert first["request_headers"]["webhook-id"] == row.id
        assert first["request_headers"]["webhook-signature"].startswith("v1,")
        assert first["response_headers"]["content-length"] == "0"
        assert (first["response_body"], first["response_body_is_cut"]) == ("", False)
        assert second["http_status"] == 204
        assert [entry["http_status"] for entry in waiting.messages[0]["log"]] == [500]
        assert [entry["http_status"] for entry in ended.messages[0]["log"]] == [500, 204]
        assert undelivered.messages == []
        assert message["body"] == '{"sequence":1}'

    async def test_lists_what_ended_before_a_moment_and_how(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        listed = notifier.messages
        async with notifier.delivering():
            for sequence in (1, 2):
                await notifier.consume(a_swap(app_id=endpoint.app_id, sequence=sequence))
                await notifier.until(*["delivered"] * sequence)
                notifier.now += timedelta(hours=1)
        await notifier.consume(a_swap(app_id=endpoint.app_id, sequence=3))  # it waits

        async def bodies(**filters: Any) -> list[int]:
            found = []
            wanted: dict[str, Any] = {"since": NOW, "undelivered_only": False, **filters}
            first = await listed.list_of_endpoint(endpoint.id, Window(1, 0), **wanted)
            while first is not None:
                found += [row["sequence"] for row in first.messages]
                after = None if first.next is None else Place.from_text(first.next)
                first = after and await listed.list_of_endpoint(
                    endpoint.id, Window(1, 0, after), **wanted
                )
            return found

        hour = NOW + timedelta(hours=1)
        assert await bodies() == [3, 2, 1]
        assert await bodies(until=hour) == [1]
        assert await bodies(since=hour, until=hour + timedelta(hours=1)) == [2]
        assert await bodies(delivered_only=True) == [2, 1]
        assert await bodies(undelivered_only=True) == [3]
        assert await bodies(undelivered_only=True, until=hour) == []
        assert await bodies(oldest_first=True, until=hour) == [1]

    @pytest.mark.parametrize("oldest_first", [False, True])
    async def test_a_part_follows_the_place_of_the_one_before(
        self, notifier: Notifier, sink: Sink, *, oldest_first: bool
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        listed = notifier.messages
        async with notifier.delivering():
            for sequence in range(1, 6):
                await notifier.consume(
                    a_swap(app_id=endpoint.app_id, sequence=sequence, changed_at=notifier.now)
                )
                await notifier.until(*["delivered"] * sequence)
                notifier.now += timedelta(seconds=sequence % 2)  # some end at the same time
        for sequence in (6, 7, 8):
            await notifier.consume(
                a_swap(app_id=endpoint.app_id, sequence=sequence, changed_at=notifier.now)
            )

        async def part(limit: int, after: Place | None) -> MessagePage:
            found = await listed.list_of_endpoint(
                endpoint.id,
                Window(limit, 0, after),
                since=NOW,
                undelivered_only=False,
                oldest_first=oldest_first,
            )
            assert found is not None
            return found

        whole = await part(100, None)
        parts, after = [await part(2, None)], None
        while parts[-1].next is not None:
            after = Place.from_text(parts[-1].next)
            parts.append(await part(2, after))

        ids = [row["id"] for row in whole.messages]
        assert len(ids) == (5 if oldest_first else 8)
        assert [row["id"] for one in parts for row in one.messages] == ids
        assert {one.total for one in parts} == {len(ids)}
        assert [one.has_more for one in parts] == [True] * (len(parts) - 1) + [False]

    @pytest.mark.parametrize("text", ["", "x", "bnVsbA", "WzEsMiwzLDRd", "W10", "Ef5sNO", "é"])
    def test_a_text_that_is_no_place_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="is no place"):
            Place.from_text(text)

    @pytest.mark.parametrize(
        "changed",
        [
            {"sequence": float("inf")},
            {"sequence": 2**31},
            {"sequence": -1},
            {"sequence": "1"},
            {"id": "msg\0"},
            {"id": "\ud800"},
            {"id": 1},
        ],
    )
    def test_a_place_that_no_message_can_have_is_refused(self, changed: dict[str, Any]) -> None:
        place = Place(None, NOW, 1, "msg_1")
        assert Place.from_text(place.to_text()) == place

        with pytest.raises(ValueError, match="is no place"):
            Place.from_text(replace(place, **changed).to_text())

    async def test_serves_no_other_endpoint(self, notifier: Notifier) -> None:
        listed = notifier.messages

        window = Window(limit=1, offset=0)
        assert (
            await listed.list_of_endpoint(uuid4(), window, since=NOW, undelivered_only=False)
            is None
        )


class TestMessagesOfSwaps:
    async def test_are_an_apps_where_one_is_named(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        swap = a_swap(app_id=endpoint.app_id)
        await notifier.consume(swap)
        listed = notifier.messages

        own = await listed.list_of_swap(swap.swap_id, app_id=endpoint.app_id)

        assert [message["swap_id"] for message in own] == [swap.swap_id]
        assert await listed.list_of_swap(swap.swap_id, app_id=None) == own
        assert await listed.list_of_swap(swap.swap_id, app_id=uuid4()) == []


class TestFirstDelivery:
    async def test_is_noted_once(self, notifier: Notifier, sink: Sink) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks", answering(500)))

        async with notifier.delivering():
            await notifier.consume(a_swap(app_id=endpoint.app_id, sequence=1))
            await notifier.until_attempted(1)
            failing = await notifier.find_endpoint(endpoint)
            sink.at("/hooks", answering(204))
            notifier.now += timedelta(seconds=5)
            await notifier.until("delivered")
            delivered = await notifier.find_endpoint(endpoint)
            notifier.now += DAY
            await notifier.consume(a_swap(app_id=endpoint.app_id, changed_at=notifier.now))
            await notifier.until("delivered", "delivered")

        assert failing.first_delivered_at is None
        assert delivered.first_delivered_at == NOW + timedelta(seconds=5)
        assert (
            await notifier.find_endpoint(endpoint)
        ).first_delivered_at == delivered.first_delivered_at


class TestPages:
    async def test_tell_a_message_that_is_under_way_from_one_that_waits(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        await notifier.consume(a_swap(app_id=endpoint.app_id))
        listed = notifier.messages

        [waiting] = (await shown(listed, endpoint.id)).messages
        await notifier.claim_and_die(seconds=30)
        [claimed] = (await shown(listed, endpoint.id)).messages
        async with notifier.delivering():
            notifier.now += timedelta(seconds=30)
            await notifier.until("delivered")
        [delivered] = (await shown(listed, endpoint.id)).messages

        messages = (waiting, claimed, delivered)
        assert [one["is_under_way"] for one in messages] == [False, True, False]
        assert claimed["due_at"] == waiting["due_at"] + timedelta(seconds=30)

    async def test_show_every_message_once_what_waits_first(
        self, notifier: Notifier, sink: Sink
    ) -> None:
        endpoint = await notifier.endpoint(sink.at("/hooks"))
        async with notifier.delivering():
            await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(3)))
            await notifier.until(*["delivered"] * 3)
        for _ in range(4):
            notifier.now += timedelta(seconds=1)
            changed = a_swap(app_id=endpoint.app_id, changed_at=notifier.now)
            await notifier.consume(changed)
        listed = notifier.messages

        parts = [await shown(listed, endpoint.id, limit=3, offset=at) for at in (0, 3, 6, 9)]

        messages = [message for part in parts for message in part.messages]
        assert [message["state"] for message in messages] == ["waiting"] * 4 + ["delivered"] * 3
        assert len({message["id"] for message in messages}) == 7
        due = [message["due_at"] for message in messages[:4]]
        assert due == sorted(due)
        assert [part.total for part in parts] == [7] * 4
        assert [part.has_more for part in parts] == [True, True, False, False]
