"""Sent attempts are marked later, in batches, with the time at which nodes accepted them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import pytest

from swap_chains.ports import Broadcast, NodeAnswer, Reaction
from swap_runtime import loop_pacing
from swap_runtime.errors import Unavailable
from swap_settler.paying.usecases import buffer_sent_attempts
from swap_settler.paying.usecases.buffer_sent_attempts import BufferSentAttempts
from swap_settler.paying.usecases.mark_sent import MarkSent

NETWORK = "ETHEREUM_DEVNET"


class MarkSentRecorder:
    """Records the attempts to be marked."""

    def __init__(self) -> None:
        self.marked: list[Mapping[str, timedelta]] = []
        self.is_unavailable = False

    async def __call__(self, sent_ago: Mapping[str, timedelta]) -> None:
        if self.is_unavailable:
            raise Unavailable("postgres")
        self.marked.append(sent_ago)


@pytest.fixture
def mark_sent_recorder() -> MarkSentRecorder:
    return MarkSentRecorder()


@pytest.fixture
def buffer(
    mark_sent_recorder: MarkSentRecorder, monkeypatch: pytest.MonkeyPatch
) -> BufferSentAttempts:
    """A buffer with the clock 1, 2, 3 … and without a pause."""

    async def at_once(_: object) -> None: ...

    monkeypatch.setattr(loop_pacing.LoopPacing, "pause", at_once)
    monkeypatch.setattr(buffer_sent_attempts, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(buffer_sent_attempts, "RETRY_SECONDS", 0)
    clock = iter(range(1, 100))
    return BufferSentAttempts(cast(MarkSent, mark_sent_recorder), now=lambda: float(next(clock)))


def an_answer(transaction_hash: str, reaction: Reaction = Reaction.ACCEPTED) -> Any:
    return Broadcast(transaction_hash, (NodeAnswer("0:node", reaction, ""),))


class TestWhatWasSent:
    async def test_is_marked_together_with_when_nodes_had_it(
        self, buffer: BufferSentAttempts, mark_sent_recorder: MarkSentRecorder
    ) -> None:
        await buffer.record_results(NETWORK, [an_answer("0x01"), an_answer("0x02")])
        await buffer.record_results(NETWORK, [an_answer("0x03")])

        await buffer()

        two, one = timedelta(seconds=2), timedelta(seconds=1)
        assert mark_sent_recorder.marked == [{"0x01": two, "0x02": two, "0x03": one}]

    async def test_is_marked_once(
        self, buffer: BufferSentAttempts, mark_sent_recorder: MarkSentRecorder
    ) -> None:
        await buffer.record_results(NETWORK, [an_answer("0x01")])

        await buffer()
        await buffer()

        assert len(mark_sent_recorder.marked) == 1

    async def test_and_refused_for_sure_is_not(
        self, buffer: BufferSentAttempts, mark_sent_recorder: MarkSentRecorder
    ) -> None:
        await buffer.record_results(NETWORK, [an_answer("0x01", Reaction.REJECTED)])

        await buffer()

        assert mark_sent_recorder.marked == []

    async def test_without_a_database_is_marked_later_with_the_same_time(
        self, buffer: BufferSentAttempts, mark_sent_recorder: MarkSentRecorder
    ) -> None:
        await buffer.record_results(NETWORK, [an_answer("0x01")])
        mark_sent_recorder.is_unavailable = True
        with pytest.raises(Unavailable):
            await buffer()
        mark_sent_recorder.is_unavailable = False
        await buffer.record_results(NETWORK, [an_answer("0x02")])

        await buffer()

        assert mark_sent_recorder.marked == [
            {"0x01": timedelta(seconds=3), "0x02": timedelta(seconds=1)}
        ]

    async def test_while_it_waits_wakes_it(
        self, buffer: BufferSentAttempts, mark_sent_recorder: MarkSentRecorder
    ) -> None:
        marking = asyncio.create_task(buffer())
        await asyncio.sleep(0)

        await buffer.record_results(NETWORK, [an_answer("0x01")])
        await marking

        assert len(mark_sent_recorder.marked) == 1
