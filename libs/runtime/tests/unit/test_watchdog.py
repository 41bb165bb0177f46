from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from libs.runtime.tests.fakes import NOTES, FakeParking, Note, a_record
from swap_contracts.envelope import Envelope
from swap_runtime.messaging.batches import Batches, TooManyParked
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.messaging.watchdog import ConsumerStuck, Watchdog

NOT_RUNNING = SimpleNamespace(consumer=None)


def a_consumer() -> Consumer[Note]:
    async def fail(_: Sequence[Envelope[Note]]) -> None:
        raise ValueError

    return Consumer(NOTES, "test", Batches(NOTES, fail, FakeParking(), parked_in_a_row_max=0))


def a_watchdog(
    consumer: Consumer[Any], *, kafka_is_well: bool, stuck_after: timedelta = timedelta(0)
) -> Watchdog:
    async def has_topic(_: str) -> bool:
        return kafka_is_well

    return Watchdog([(consumer, NOT_RUNNING)], stuck_after=stuck_after, has_topic=has_topic)


class TestWatchdog:
    @pytest.mark.fault("K17")
    async def test_k17_ends_the_process_of_a_consumer_that_gets_no_answers(self) -> None:
        watchdog = a_watchdog(a_consumer(), kafka_is_well=True)

        with pytest.raises(ConsumerStuck):
            await watchdog()

    @pytest.mark.fault("K13")
    async def test_k13_leaves_it_alone_while_kafka_is_away(self) -> None:
        watchdog = a_watchdog(a_consumer(), kafka_is_well=False)

        await watchdog()

        assert watchdog.problems() == {}

    async def test_leaves_it_alone_while_it_may_still_answer(self) -> None:
        watchdog = a_watchdog(a_consumer(), kafka_is_well=True, stuck_after=timedelta(hours=1))

        await watchdog()

        assert watchdog.problems() == {}

    async def test_ends_the_process_of_a_consumer_that_parked_too_many(self) -> None:
        consumer = a_consumer()
        watchdog = a_watchdog(consumer, kafka_is_well=True, stuck_after=timedelta(hours=1))
        with pytest.raises(TooManyParked):
            await consumer.receive([a_record()])

        with pytest.raises(ConsumerStuck):
            await watchdog()
        assert watchdog.problems() == {NOTES.name: "consumer stopped"}
