"""Follows one network's blocks for as long as the lease is held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.watch import (
    BrokenChain,
    ChainBehind,
    CursorMoved,
    Halt,
    NetworkHalted,
    Watch,
)
from swap_chain_watcher.usecases.activate_targets import ActivateTargets
from swap_chain_watcher.usecases.advance_watch import AdvanceWatch
from swap_chain_watcher.usecases.find_rise_transactions import FindRiseTransactions
from swap_chain_watcher.usecases.open_watch import OpenWatch
from swap_chains.errors import ChainError, FinalBlocksDiffer, ReorgBeyondFinality
from swap_chains.events import ChainEvent
from swap_chains.ports import ChainReader
from swap_runtime.clock import Clock
from swap_runtime.postgres.wake import Wake

Beat = Callable[[], None]


@dataclass(frozen=True, slots=True)
class FollowTimings:
    """How long to wait for what."""

    first_pause: timedelta = timedelta(milliseconds=100)
    pause_max: timedelta = timedelta(seconds=10)
    # Without a new block for so long, the chain may have been restarted from nothing.
    check_after: timedelta = timedelta(seconds=10)
    # Hints are unverified: they may trigger a read now and then, but not cause constant load.
    between_hints: timedelta = timedelta(seconds=1)
    halted_check: timedelta = timedelta(seconds=1)
    beat_every: timedelta = timedelta(seconds=2)


class FollowNetwork:
    def __init__(
        self,
        reader: ChainReader,
        watches: PostgresWatches,
        *,
        open_watch: OpenWatch,
        advance_watch: AdvanceWatch,
        hinted: Wake,
        clock: Clock,
        random: Random,
        timings: FollowTimings | None = None,
        activate_targets: ActivateTargets | None = None,
        find_rise_transactions: FindRiseTransactions | None = None,
    ) -> None:
        """
        :param activate_targets: nothing where a network has no deposit addresses.
        :param find_rise_transactions: the same.
        """
        self._activate_targets = activate_targets
        self._find_rise_transactions = find_rise_transactions
        self._reader = reader
        self._watches = watches
        self._open_watch = open_watch
        self._advance_watch = advance_watch
        self._hinted = hinted
        self._clock = clock
        self._random = random
        self._timings = timings or FollowTimings()
        self._failures = 0
        self._find_again_at = 0.0  # by the loop's clock
        self._moved_at = 0.0  # when the chain was last seen to move, by the loop's clock

    async def __call__(self, beat: Beat, *, epoch: int) -> None:
        """Follow for ever. What only this network cannot do never leaves here.

        :raises LeaseLost: when another follows the network now.
        :raises Unavailable: when Postgres is away.
        """
        network = self._reader.network
        while True:
            beat()
            await self._wait_until_resumed(beat)
            try:
                await self._follow(beat, epoch=epoch)
            except (ReorgBeyondFinality, ChainBehind, FinalBlocksDiffer) as error:
                if isinstance(error, FinalBlocksDiffer):
                    observe.nodes_differed(network, error)
                await self._watches.halt(Halt(network, str(error), self._clock()))
                observe.network_halted(network, str(error))
            except NetworkHalted:
                continue  # by the second look; the next round waits
            except (ChainError, BrokenChain, CursorMoved) as error:
                observe.following_interrupted(network, error)
                await asyncio.sleep(self._pause_seconds())
                self._failures += 1

    async def _wait_until_resumed(self, beat: Beat) -> None:
        network = self._reader.network
        while (halt := await self._watches.find_halt(network)) is not None:
            observe.network_still_halted(network)
            beat()
            await asyncio.sleep(self._timings.halted_check.total_seconds())
            if await self._watches.find_halt(network) is None:
                observe.network_resumed(network, halt.reason)
        observe.network_followed(network)

    async def _follow(self, beat: Beat, *, epoch: int) -> None:
        watch = await self._open_watch()
        self._advance_watch.forget()
        self._moved_at = asyncio.get_running_loop().time()
        while True:  # a hint opens the stream again, which polls at once
            if self._activate_targets is not None:
                watch = await self._activate_targets(watch, epoch=epoch)
            watch = await self._find_transactions(watch, epoch=epoch)
            batches = self._reader.follow_batches(after=watch.cursor, recent=watch.recent)
            try:
                watch = await self._process_until_hint(batches, watch, beat, epoch=epoch)
            finally:
                if isinstance(batches, AsyncGenerator):
                    await batches.aclose()

    async def _process_until_hint(
        self,
        batches: AsyncIterator[Sequence[ChainEvent]],
        watch: Watch,
        beat: Beat,
        *,
        epoch: int,
    ) -> Watch:
        """Take batches until a hint comes while there is nothing to take.

        What a hint opens again goes on waiting: hints are no news of the chain.
        """
        loop = asyncio.get_running_loop()
        opened = loop.time()
        hint = asyncio.create_task(self._hinted.wait(timedelta.max))
        coming = asyncio.create_task(_next(batches))
        try:
            while True:
                remaining = opened + self._between_hints - loop.time()
                notify_followers = {hint} if remaining <= 0 else set()
                beat_every = self._timings.beat_every.total_seconds()
                await asyncio.wait(
                    {coming, *notify_followers},
                    timeout=beat_every if notify_followers else min(beat_every, remaining),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                beat()
                if coming.done():
                    watch = await self._advance_watch(watch, coming.result(), epoch=epoch)
                    coming = asyncio.create_task(_next(batches))
                    self._failures, self._moved_at = 0, loop.time()
                    has_waited = self._moved_at - opened > self._between_hints
                    if has_waited and self._advance_watch.has_new_targets:
                        return watch
                    if self._has_new_rises or self._must_search_again:
                        return watch
                elif loop.time() - self._moved_at > self._timings.check_after.total_seconds():
                    await self._open_watch.check(watch)
                    self._moved_at = loop.time()
                elif self._must_search_again or (hint in notify_followers and hint.done()):
                    return watch
        finally:
            await _cancel_all(hint, coming)

    async def _find_transactions(self, watch: Watch, *, epoch: int) -> Watch:
        """Find the transactions of rises, but for the pause after a search that was incomplete.

        The pause is as long as that search at least: credits wait for half of the time at most.
        """
        find, loop = self._find_rise_transactions, asyncio.get_running_loop()
        began = loop.time()
        if find is None or began < self._find_again_at:
            return watch
        watch = await find(watch, epoch=epoch)
        if find.incomplete_searches:
            pause = max(loop.time() - began, self._pause(find.incomplete_searches))
            self._find_again_at = loop.time() + pause
        return watch

    @property
    def _has_new_rises(self) -> bool:
        return self._find_rise_transactions is not None and self._advance_watch.has_new_rises

    @property
    def _must_search_again(self) -> bool:
        """Whether nodes did not answer about some rises, and the pause after it is over."""
        find = self._find_rise_transactions
        if find is None or not find.incomplete_searches:
            return False
        return asyncio.get_running_loop().time() >= self._find_again_at

    @property
    def _between_hints(self) -> float:
        return self._timings.between_hints.total_seconds()

    def _pause_seconds(self) -> float:
        return self._pause(self._failures) * (0.5 + self._random.random() / 2)

    def _pause(self, failures: int) -> float:
        """Return the pause in seconds after so many failures in a row."""
        first, longest = self._timings.first_pause, self._timings.pause_max
        return min(first * (1 << min(failures, 16)), longest).total_seconds()


async def _next(batches: AsyncIterator[Sequence[ChainEvent]]) -> Sequence[ChainEvent]:
    return await anext(batches)


async def _cancel_all(*tasks: asyncio.Task[Any]) -> None:
    """End tasks: a generator cannot be closed while one of them is inside it.

    :raises CancelledError: once they have ended, if this was cancelled meanwhile.
    """
    is_cancelled = False
    for task in tasks:
        task.cancel()
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            is_cancelled = True
    for task in tasks:
        if not task.cancelled():
            task.exception()  # read, so that its exception is not reported as unretrieved
    if is_cancelled:
        raise asyncio.CancelledError
