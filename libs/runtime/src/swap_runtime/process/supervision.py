"""Named background tasks: restarted when they raise, counted, and monitored by their progress."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from time import monotonic
from typing import Final

import structlog

from swap_runtime.errors import Unavailable
from swap_runtime.loop_pacing import LoopPacing
from swap_runtime.postgres.wake import Wake
from swap_runtime.telemetry.metrics import begin_at_zero, counter

Beat = Callable[[], None]
Run = Callable[[Beat], Awaitable[None]]
Work = Callable[[], Awaitable[bool | int | None]]  # whether there is more to do at once

PAUSES: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
# If a task worked for so long before it failed, its count restarts.
CALM_SECONDS: Final = 60.0
BEAT_INTERVAL: Final = timedelta(seconds=5)

# Alert: grows for long.
TASK_FAILURES: Final = counter("task_failures", "Background tasks that raised", ["task"])
log = structlog.get_logger()


class TaskFailedTooOften(Exception):
    """A task failed too often in a row; the process ends so that its supervisor can restart it."""


class SupervisedTask:
    """One task that must not die."""

    def __init__(self, name: str, run: Run, *, failures_max: int) -> None:
        self.name = name
        self._run = run
        self._failures_max = failures_max
        self.beat_at = monotonic()
        begin_at_zero(TASK_FAILURES, [name])

    @property
    def ends_after_stop(self) -> bool:
        """Whether it ends by itself after `stop`, so that its work is not cancelled."""
        return isinstance(self._run, Rounds)

    @property
    def silence_seconds(self) -> float:
        """How long ago it last reported progress."""
        return monotonic() - self.beat_at

    async def keep_running(self) -> None:
        """
        :raises TaskFailedTooOften: when it fails again and again.
        """
        failures = waits = 0
        while True:
            began = monotonic()
            self.beat()
            try:
                await self._run(self.beat)
                return
            except Unavailable as error:
                waits += 1
                log.warning("task waits for a dependency", task=self.name, reason=str(error))
            except Exception:
                failures = 1 if monotonic() - began > CALM_SECONDS else failures + 1
                TASK_FAILURES.labels(task=self.name).inc()
                log.exception("task failed", task=self.name, failures=failures)
                if failures >= self._failures_max:
                    raise TaskFailedTooOften(self.name) from None
            if monotonic() - began > CALM_SECONDS:
                waits = 0
            await asyncio.sleep(PAUSES[min(max(failures, waits), len(PAUSES)) - 1])

    def beat(self) -> None:
        """Say that the task works, also while it only waits."""
        self.beat_at = monotonic()


class Rounds:
    """Work done at an interval, or sooner when woken, until the process stops."""

    def __init__(
        self,
        interval: timedelta,
        work: Work,
        *,
        wake: Wake | None,
        rest: timedelta | None = None,
    ) -> None:
        self._interval = interval
        self._rest = rest
        self._work = work
        self._wake = wake or Wake()
        self._stopping = False

    async def __call__(self, beat: Beat) -> None:
        """Work round after round; a round that did something is followed by the next at once."""
        pacing = LoopPacing(self._rest)
        while not self._stopping:
            pacing.begin()
            if not await self._work():
                await self._wait(beat, pacing)
            beat()

    async def _wait(self, beat: Beat, pacing: LoopPacing) -> None:
        """Wait for the next round, and say meanwhile that waiting is all there is to do."""
        if not self._stopping:
            await pacing.pause()
        left = self._interval
        while left > timedelta(0) and not self._stopping:
            beat()
            if await self._wake.wait(min(left, BEAT_INTERVAL)):
                return
            left -= BEAT_INTERVAL

    def stop(self) -> None:
        """Let the running round end, and begin no other."""
        self._stopping = True
        self._wake.set()


async def cancel_and_wait(task: asyncio.Task[object]) -> None:
    """Cancel a task and wait until it is gone, whatever it ends with."""
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task
