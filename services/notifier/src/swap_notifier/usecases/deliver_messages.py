"""Delivers messages that are due: claim in one transaction, send outside of any, record in another.

A message with a failed delivery is due again later, up to eight attempts (`domain/outcomes.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_notifier import observe
from swap_notifier.adapters.deliveries import PostgresDeliveries
from swap_notifier.adapters.http_sender import HttpSender
from swap_notifier.domain.outcomes import Answer, AttemptOutcome, ClaimedMessage, State, outcome_of
from swap_notifier.domain.schedule import JITTER_PPM_MAX
from swap_notifier.domain.windows import Windows
from swap_runtime.clock import Clock
from swap_runtime.crashpoint import crashpoint
from swap_runtime.postgres.wake import Wake

# A claim outlasts its attempt and the recording of it; after a crash the next attempt waits until
# it has ended.
CLAIM_MARGIN: Final = timedelta(seconds=5)
FINISH_SECONDS: Final = 5
# No new attempt begins while so many are not recorded.
ENDED_MAX: Final = 2000


class DeliverMessages:
    """One process's deliveries. Replicas share the work: each message is claimed by one.

    Claiming and recording run side by side, each when it is woken: while one batch is recorded,
    the next is sent.
    """

    def __init__(
        self,
        deliveries: PostgresDeliveries,
        sender: HttpSender,
        windows: Windows,
        *,
        due: Wake,
        ended: Wake,
        attempt_timeout: timedelta,
        clock: Clock,
        new_id: Callable[[], UUID],
        randbelow: Callable[[int], int],
    ) -> None:
        self._deliveries = deliveries
        self._sender = sender
        self._windows = windows
        self._due = due
        self._has_ended = ended
        self._claim_term = attempt_timeout + CLAIM_MARGIN
        self._clock = clock
        self._new_id = new_id
        self._randbelow = randbelow
        self._ended: list[AttemptOutcome] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def finish(self) -> None:
        """Let what is under way end, for a while. The rest is sent again when its claim is over."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=FINISH_SECONDS)
        for task in self._under_way:
            task.cancel()
        await self.record_ended()

    async def begin_due(self) -> int:
        """Claim what is due and may begin, begin it, and return how many."""
        if self._windows.free <= 0 or len(self._ended) >= ENDED_MAX:
            return 0
        now = self._clock()
        claimed = await self._deliveries.claim(
            at=now,
            until=now + self._claim_term,
            claim=self._new_id(),
            free=self._windows.free,
            allowances=self._windows.allowances(),
            first_allowance=self._windows.first,
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
        written = await self._deliveries.record(ended)
        del self._ended[: len(ended)]
        if len(ended) >= ENDED_MAX:
            self._due.set()
        for outcome in ended:
            if outcome.disables:
                self._windows.reopen(outcome.claimed.endpoint_id)
        _observe(written)
        return len(ended)

    async def _attempt(self, claimed: ClaimedMessage) -> None:
        answer = await self._send(claimed)
        crashpoint("notifier.after_post")
        took = timedelta(milliseconds=answer.milliseconds)
        jitter_ppm = self._randbelow(JITTER_PPM_MAX + 1)
        outcome = outcome_of(claimed, answer, at=self._clock(), jitter_ppm=jitter_ppm)
        if outcome.disables:
            self._windows.close(claimed.endpoint_id)
        may_be_more = self._windows.end(
            claimed.endpoint_id, is_success=answer.is_success, took=took
        )
        self._ended.append(outcome)
        self._has_ended.set()
        if may_be_more:
            self._due.set()

    async def _send(self, claimed: ClaimedMessage) -> Answer:
        """Make the attempt. An internal error is a failure too: its place in the window must be
        released.
        """
        attempt = observe.begin_attempt(claimed)
        try:
            answer = await self._sender.send(claimed, at=self._clock())
        except Exception as error:
            observe.attempt_broke(claimed, error)
            answer = Answer(None, type(error).__name__, None, 0)
        attempt(answer)
        return answer


def _observe(outcomes: Sequence[AttemptOutcome]) -> None:
    for outcome in outcomes:
        claimed, answer = outcome.claimed, outcome.answer
        if answer.is_success:
            observe.message_delivered(claimed, answer.milliseconds)
            continue
        observe.attempt_failed(claimed, outcome.attempts, answer)
        if outcome.disables:
            observe.endpoint_disabled(claimed.endpoint_id, outcome.disables)
        elif outcome.state is State.FAILED:
            observe.message_abandoned(claimed)
