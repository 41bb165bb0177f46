"""What nodes have is marked later, together, and with the moment they had it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import pytest

from swap_chains.ports import Broadcast, NodeAnswer, Reaction
from swap_runtime import resting
from swap_runtime.errors import Unavailable
from swap_settler.usecases import tell_sent
from swap_settler.usecases.mark_sent import MarkSent
from swap_settler.usecases.tell_sent import TellSent

NETWORK = "ETHEREUM_DEVNET"


class Marks:
    """Keeps what it is told to mark."""

    def __init__(self) -> None:
        self.told: list[Mapping[str, timedelta]] = []
        self.is_away = False

    async def __call__(self, sent_ago: Mapping[str, timedelta]) -> None:
        if self.is_away:
            raise Unavailable("postgres")
        self.told.append(sent_ago)


@pytest.fixture
def marks() -> Marks:
    return Marks()


@pytest.fixture
def tell(marks: Marks, monkeypatch: pytest.MonkeyPatch) -> TellSent:
    """One whose clock says 1, 2, 3 …, and that does not rest."""

    async def at_once(_: object) -> None: ...

    monkeypatch.setattr(resting.Resting, "rest", at_once)
    monkeypatch.setattr(tell_sent, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(tell_sent, "RETRY_SECONDS", 0)
    clock = iter(range(1, 100))
    return TellSent(cast(MarkSent, marks), now=lambda: float(next(clock)))


def an_answer(transaction_hash: str, reaction: Reaction = Reaction.ACCEPTED) -> Any:
    return Broadcast(transaction_hash, (NodeAnswer("0:node", reaction, ""),))


class TestWhatWasSent:
    async def test_is_marked_together_with_when_nodes_had_it(
        self, tell: TellSent, marks: Marks
    ) -> None:
        await tell.answered(NETWORK, [an_answer("0x01"), an_answer("0x02")])
        await tell.answered(NETWORK, [an_answer("0x03")])

        await tell()

        two, one = timedelta(seconds=2), timedelta(seconds=1)
        assert marks.told == [{"0x01": two, "0x02": two, "0x03": one}]

    async def test_is_marked_once(self, tell: TellSent, marks: Marks) -> None:
        await tell.answered(NETWORK, [an_answer("0x01")])

        await tell()
        await tell()

        assert len(marks.told) == 1

    async def test_and_refused_for_sure_is_not(self, tell: TellSent, marks: Marks) -> None:
        await tell.answered(NETWORK, [an_answer("0x01", Reaction.REJECTED)])

        await tell()

        assert marks.told == []

    async def test_while_nobody_could_mark_it_is_marked_later_with_the_same_moment(
        self, tell: TellSent, marks: Marks
    ) -> None:
        await tell.answered(NETWORK, [an_answer("0x01")])
        marks.is_away = True
        with pytest.raises(Unavailable):
            await tell()
        marks.is_away = False
        await tell.answered(NETWORK, [an_answer("0x02")])

        await tell()

        assert marks.told == [{"0x01": timedelta(seconds=3), "0x02": timedelta(seconds=1)}]

    async def test_while_it_waits_wakes_it(self, tell: TellSent, marks: Marks) -> None:
        telling = asyncio.create_task(tell())
        await asyncio.sleep(0)

        await tell.answered(NETWORK, [an_answer("0x01")])
        await telling

        assert len(marks.told) == 1
