"""What one poll of a topic brings together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError  # type: ignore[import-untyped]

from swap_runtime.messaging import polling as module
from swap_runtime.messaging.polling import Polling

PARTITION = "notes.v1-0"


@pytest.fixture(autouse=True)
def _however_slow_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE_SECONDS", 60.0)


class Client:
    """A consumer whose polls are answered at once with what a test says."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self._answers = list(answers)
        self._paused: set[str] = set()
        self._returned_count = 0
        self.committed: list[int] = []
        self.refuses_to_commit = False

    def assignment(self) -> set[str]:
        return {PARTITION}

    def paused(self) -> set[str]:
        return self._paused

    def pause(self, *partitions: str) -> None:
        self._paused = self._paused.union(partitions)

    def resume(self, *partitions: str) -> None:
        self._paused = self._paused.difference(partitions)

    async def getmany(self, **_: Any) -> Mapping[str, Sequence[str]]:
        assert not self._paused
        answer = self._answers.pop(0) if self._answers else ()
        if isinstance(answer, Exception):
            raise answer
        self._returned_count += len(answer)
        return {PARTITION: answer} if answer else {}

    async def commit(self) -> None:
        if self.refuses_to_commit:
            raise KafkaConnectionError
        self.committed.append(self._returned_count)


class TestPoll:
    async def test_gathers_what_has_come_since(self) -> None:
        assert await Polling().poll(Client(["a"], ["b", "c"], ["d"])) == ("a", "b", "c", "d")

    async def test_keeps_what_it_took_when_gathering_fails(self) -> None:
        """aiokafka has moved on behind what it handed out: it does not come again."""
        poll, client = Polling().poll, Client(["a"], ["b"], KafkaConnectionError(), ["c"])

        assert await poll(client) == ("a", "b")
        assert await poll(client) == ("c",)

    async def test_fetches_nothing_further_while_something_is_handled(self) -> None:
        poll, client = Polling().poll, Client(["a"], [], ["b"])

        assert await poll(client) == ("a",)
        assert client.paused() == {PARTITION}
        assert await poll(client) == ("b",)

    async def test_goes_on_fetching_where_nothing_came(self) -> None:
        poll, client = Polling().poll, Client([])

        assert await poll(client) == ()
        assert client.paused() == set()


class TestOffsets:
    async def test_wait_for_a_poll_without_news(self) -> None:
        poll, client = Polling().poll, Client(["a"], [], ["b"], [], [], [])
        await poll(client)
        await poll(client)
        assert client.committed == []

        await poll(client)
        assert client.committed == [2]

        await poll(client)
        assert client.committed == [2]

    async def test_are_committed_now_and_then_while_news_come(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "COMMIT_SECONDS", 0.0)
        poll, client = Polling().poll, Client(["a"], [], ["b"], [])

        await poll(client)
        assert client.committed == []  # nothing was handled yet

        await poll(client)
        assert client.committed == [1]

    async def test_that_are_refused_hold_nothing_up(self) -> None:
        poll, client = Polling().poll, Client(["a"], [], [], ["b"])
        client.refuses_to_commit = True
        await poll(client)

        assert await poll(client) == ()
        assert await poll(client) == ("b",)

    async def test_that_were_refused_are_committed_later(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        poll, client = Polling().poll, Client(["a"])
        client.refuses_to_commit = True
        await poll(client)
        await poll(client)
        client.refuses_to_commit = False
        await poll(client)
        assert client.committed == []  # it was only just refused

        monkeypatch.setattr(module, "COMMIT_SECONDS", 0.0)
        await poll(client)
        assert client.committed == [1]
