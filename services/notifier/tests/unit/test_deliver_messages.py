"""Outcomes of a delivery with a failed attempt, without a database or a socket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from services.notifier.tests.factories import NOW, a_claim
from swap_notifier.domain.outcomes import Answer, AttemptOutcome, ClaimedMessage, State
from swap_notifier.domain.windows import Windows
from swap_notifier.usecases.deliver_messages import DeliverMessages
from swap_runtime.postgres.wake import Wake


class OneDelivery:
    def __init__(self) -> None:
        self.recorded: list[AttemptOutcome] = []

    async def claim(
        self,
        *,
        at: datetime,
        until: datetime,
        claim: UUID,
        free: int,
        allowances: Mapping[UUID, int],
        first_allowance: int,
    ) -> Sequence[ClaimedMessage]:
        return [a_claim(claim=claim)]

    async def record(self, outcomes: Sequence[AttemptOutcome]) -> Sequence[AttemptOutcome]:
        self.recorded += outcomes
        return outcomes


class BrokenSender:
    async def send(self, claimed: ClaimedMessage, *, at: datetime) -> Answer:
        raise OverflowError("date value out of range")


class TestDeliverMessages:
    async def test_an_attempt_that_breaks_has_failed_and_gives_its_place_back(self) -> None:
        deliveries, windows = OneDelivery(), Windows(total_max=1, endpoint_max=1)
        deliver = DeliverMessages(
            deliveries,
            BrokenSender(),
            windows,
            due=Wake(),
            ended=Wake(),
            attempt_timeout=timedelta(seconds=1),
            clock=lambda: NOW,
            new_id=uuid4,
            randbelow=lambda _: 0,
        )

        assert await deliver.begin_due() == 1
        await deliver.finish()

        (outcome,) = deliveries.recorded
        assert outcome.state is State.WAITING
        assert outcome.answer.error == "OverflowError"
        assert windows.free == 1
