"""What one poll of a topic brings together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka.errors import KafkaConnectionError  # type: ignore[import-untyped]

from swap_runtime.consuming import _poll

PARTITION = "notes.v1-0"


class Client:
    """A consumer whose polls are answered at once with what a test says."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self._answers = list(answers)
        self._paused: set[str] = set()

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
        return {PARTITION: answer} if answer else {}


class TestPoll:
    async def test_gathers_what_has_come_since(self) -> None:
        assert await _poll(Client(["a"], ["b", "c"], ["d"])) == ("a", "b", "c", "d")

    async def test_keeps_what_it_took_when_gathering_fails(self) -> None:
        """aiokafka has moved on behind what it handed out: it does not come again."""
        client = Client(["a"], ["b"], KafkaConnectionError(), ["c"])

        assert await _poll(client) == ("a", "b")
        assert await _poll(client) == ("c",)

    async def test_fetches_nothing_further_while_something_is_handled(self) -> None:
        client = Client(["a"], [], ["b"])

        assert await _poll(client) == ("a",)
        assert client.paused() == {PARTITION}
        assert await _poll(client) == ("b",)

    async def test_goes_on_fetching_where_nothing_came(self) -> None:
        client = Client([])

        assert await _poll(client) == ()
        assert client.paused() == set()
