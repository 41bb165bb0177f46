"""A listener reads messages, from an API with configured answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
import typer

from swapctl.admin_client import PAGE_SIZE, Management, ServiceUnavailable
from swapctl.commands.listen import Forwarding, local_url
from swapctl.local_forwarder import Answer, LocalForwarder
from swapctl.webhook_listener import OVERLAP, WebhookListener

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Ended(Exception):
    """Ends the command in a test."""


class Stored:
    """The messages of a listener, in the order in which they were stored."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.reads = 0
        self.away = 0

    def add(self, name: str, at: datetime, kind: str = "swap.completed") -> None:
        self.rows.append(
            {"id": name, "ended_at": at.isoformat(), "event_type": kind, "swap_id": None}
        )

    def get(self, path: str, **query: str) -> Any:
        if self.away:
            self.away -= 1
            raise ServiceUnavailable("api answered 503: later")
        if not query:
            return {"id": path.rsplit("/", 1)[1], "event_type": "x", "swap_id": None, "body": "{}"}
        self.reads += 1
        since = datetime.fromisoformat(query["since"])
        found = [row for row in self.rows if datetime.fromisoformat(row["ended_at"]) >= since]
        found.sort(key=lambda row: row["ended_at"])
        begin = (int(query["page"]) - 1) * PAGE_SIZE
        return found[begin : begin + PAGE_SIZE]


def a_listener(stored: Stored, since: datetime = NOW) -> WebhookListener:
    return WebhookListener(cast(Management, stored), "endpoint", since=since)


def read(listener: WebhookListener, *, with_updates: bool = False) -> list[str]:
    return [message["id"] for message in listener.unread(with_updates=with_updates)]


class TestWebhookListener:
    def test_reads_each_message_once_also_a_full_page_with_one_time(self) -> None:
        stored = Stored()
        names = [f"{number:03}" for number in range(2 * PAGE_SIZE + 5)]
        for name in names:
            stored.add(name, NOW)
        listener = a_listener(stored)

        assert read(listener) == names
        assert read(listener) == []

    def test_reads_messages_that_were_stored_late(self) -> None:
        stored, late = Stored(), NOW + timedelta(minutes=1)
        stored.add("first", late)
        listener = a_listener(stored)
        assert read(listener) == ["first"]

        stored.add("late", late - OVERLAP / 2)

        assert read(listener) == ["late"]

    def test_reads_a_message_that_is_sent_again(self) -> None:
        stored = Stored()
        stored.add("one", NOW)
        listener = a_listener(stored)
        assert read(listener) == ["one"]

        stored.rows[0]["ended_at"] = (NOW + timedelta(seconds=1)).isoformat()

        assert read(listener) == ["one"]

    def test_stores_only_ids_of_the_overlap(self) -> None:
        stored = Stored()
        for minute in range(3 * PAGE_SIZE):
            stored.add(str(minute), NOW + timedelta(minutes=minute))
        listener = a_listener(stored)

        most = max(len(listener._seen) for _ in listener.unread(with_updates=False))

        assert most == 1
        assert read(listener) == []

    @pytest.mark.parametrize(("with_updates", "names"), [(True, ["a", "b"]), (False, ["b"])])
    def test_reads_updates_on_request(self, with_updates: bool, names: list[str]) -> None:
        stored = Stored()
        stored.add("a", NOW, "swap.updated")
        stored.add("b", NOW)

        assert read(a_listener(stored), with_updates=with_updates) == names

    def test_continues_after_the_service_was_unavailable(self) -> None:
        stored = Stored()
        stored.add("a", NOW)
        stored.add("b", NOW + timedelta(seconds=1))
        listener = a_listener(stored)
        unread = listener.unread(with_updates=False)
        assert next(unread)["id"] == "a"
        stored.away = 1
        with pytest.raises(ServiceUnavailable):
            next(unread)

        assert read(listener) == ["b"]


class Answering:
    def forward(self, message: Mapping[str, Any]) -> Answer:
        return Answer(200 if message["id"] == "good" else 302, None, 1)


class TestForwarding:
    def test_polls_an_unavailable_service_with_backoff_and_counts_failures(self) -> None:
        stored, pauses = Stored(), list[float]()
        stored.add("good", NOW)
        stored.add("moved", NOW + timedelta(seconds=1))
        stored.away = 7
        lines: list[str] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if not stored.away and stored.reads > 1:
                raise Ended

        forwarding = Forwarding(
            a_listener(stored),
            cast(LocalForwarder, Answering()),
            with_updates=False,
            print_line=lines.append,
            sleep=sleep,
        )
        with pytest.raises(Ended):
            forwarding.run()

        assert pauses == [1, 2, 4, 8, 16, 30, 30, 1, 1]
        assert (forwarding.forwarded, forwarding.failed) == (2, 1)
        assert [line[0] for line in lines[-2:]] == [" ", "!"]


@pytest.mark.parametrize("text", ["127.0.0.1:80", "ftp://a.example", "http://", "http://a:b", ""])
def test_a_url_must_be_http_or_https(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        local_url(text)
