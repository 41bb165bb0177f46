"""Sends what is due: claim in one transaction, send outside of any, record in another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_notifier import observe
from swap_notifier.domain.outcomes import Answer, Claimed, Outcome, State, outcome_of
from swap_notifier.domain.schedule import JITTER_PPM_MAX
from swap_notifier.domain.windows import Windows
from swap_notifier.ports import Deliveries, Sender
from swap_runtime.clock import Clock
from swap_runtime.crashpoint import crashpoint
from swap_runtime.wake import Wake

# A claim outlives its attempt and the recording of it by far; after a crash it is what the next
# attempt waits for.
CLAIM_MARGIN: Final = timedelta(seconds=5)
FINISH_SECONDS: Final = 5


class DeliverMessages:
    """One process's deliveries. Replicas share the work: a claim is one's alone."""

    def __init__(
        self,
        deliveries: Deliveries,
        sender: Sender,
        windows: Windows,
        wake: Wake,
        *,
        attempt_timeout: timedelta,
        clock: Clock,
        new_id: Callable[[], UUID],
        randbelow: Callable[[int], int],
    ) -> None:
        self._deliveries = deliveries
        self._sender = sender
        self._windows = windows
        self._wake = wake
        self._claim_term = attempt_timeout + CLAIM_MARGIN
        self._clock = clock
        self._new_id = new_id
        self._randbelow = randbelow
        self._ended: list[Outcome] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def __call__(self) -> bool:
        """Write down what ended, begin what is due; say whether there was something to do."""
        recorded = await self.record_ended()
        begun = await self.begin_due()
        return bool(recorded or begun)

    async def finish(self) -> None:
        """Let what is under way end, for a while. The rest is sent again when its claim is over."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=FINISH_SECONDS)
        for task in self._under_way:
            task.cancel()
        await self.record_ended()

    async def begin_due(self) -> int:
        """Claim what is due and may begin, begin it, and return how many."""
        if self._windows.free <= 0:
            return 0
        now = self._clock()
        claimed = await self._deliveries.claim(
            at=now,
            until=now + self._claim_term,
            claim=self._new_id(),
            free=self._windows.free,
            rooms=self._windows.rooms(),
            first_room=self._windows.first,
        )
        crashpoint("notifier.after_claim")
        for one in claimed:
            self._windows.begin(one.endpoint_id)
            task = asyncio.create_task(self._attempt(one), name=one.message_id)
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        observe.under_way(len(self._under_way))
        return len(claimed)

    async def record_ended(self) -> int:
        """Write down every attempt that has ended since the last time, all at once."""
        if not self._ended:
            return 0
        ended = self._ended[:]
        await self._deliveries.record(ended)
        del self._ended[: len(ended)]
        for outcome in ended:
            self._windows.end(
                outcome.claimed.endpoint_id,
                is_success=outcome.answer.is_success,
                took=timedelta(milliseconds=outcome.answer.milliseconds),
            )
        _observe(ended)
        return len(ended)

    async def _attempt(self, claimed: Claimed) -> None:
        answer: Answer = await self._sender.send(claimed, at=self._clock())
        crashpoint("notifier.after_post")
        self._ended.append(
            outcome_of(
                claimed,
                answer,
                at=self._clock(),
                jitter_ppm=self._randbelow(JITTER_PPM_MAX + 1),
            )
        )
        self._wake.set()


def _observe(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        claimed, answer = outcome.claimed, outcome.answer
        if answer.is_success:
            observe.delivered(answer.milliseconds)
            continue
        observe.attempt_failed(
            claimed.message_id,
            claimed.endpoint_id,
            outcome.attempts,
            answer.http_status,
            answer.error,
        )
        if outcome.disables:
            observe.endpoint_disabled(claimed.endpoint_id, outcome.disables)
        elif outcome.state is State.FAILED:
            observe.gave_up(claimed.message_id, claimed.endpoint_id)
