"""Resumes a halted network after an operator has found the cause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.denials import RisesDenied
from swap_chain_watcher.domain.second_look import MovementsDenied
from swap_chain_watcher.domain.watch import BrokenChain, ChainBehind, Halt
from swap_chain_watcher.usecases.take_back_logs import TakeBackLogs
from swap_chains.errors import ChainError, ReorgBeyondFinality
from swap_runtime.errors import RequestRefused, Unavailable

CONTRADICTIONS: Final = (
    ReorgBeyondFinality,
    ChainBehind,
    BrokenChain,
    MovementsDenied,
    RisesDenied,
)
# An order ends within it, so that who ordered receives the answer. The settler notes every five
# seconds, while it is busy, how far it has read.
ORDER_WITHIN: Final = timedelta(seconds=20)
READ_CHECK: Final = timedelta(milliseconds=100)
CHECKS_MAX: Final = 3  # a check that publishes what was missed is repeated
Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ResumeResult:
    """What a resume took back, and what an earlier order had taken back."""

    taken_back: tuple[str, ...] = ()
    taken_back_before: tuple[str, ...] = ()


@dataclass(slots=True)
class _Progress:
    """How far an order has come, for its answer."""

    ordered: tuple[str, ...]  # the transactions to take back
    taken_back: frozenset[str] | None = None  # by this order; None until that is known
    pending: str = ""  # what is not done yet, in words

    @property
    def resumed(self) -> ResumeResult:
        taken_back = self.taken_back or frozenset()
        return ResumeResult(
            tuple(one for one in self.ordered if one in taken_back),
            tuple(one for one in self.ordered if one not in taken_back),
        )

    @property
    def sentence(self) -> str:
        """Return how a refusal begins: what stays although the network does not go on."""
        if not self.ordered:
            return ""
        if self.taken_back is None:
            return f"whether {', '.join(self.ordered)} is taken back is not known: "
        now, before = self.resumed.taken_back, self.resumed.taken_back_before
        parts = [f"{', '.join(now)} is taken back and stays so"] if now else []
        if before:
            parts.append(f"{', '.join(before)} was taken back by an earlier order")
        return f"{', '.join(parts)}, but "


class ResumeNetwork:
    def __init__(
        self,
        watches: PostgresWatches,
        *,
        checks: Mapping[str, Sequence[Check]],
        take_back_logs: Mapping[str, TakeBackLogs],
        within: timedelta = ORDER_WITHIN,
    ) -> None:
        """
        :param checks: for each network, what must not raise before it goes on.
        :param take_back_logs: the same networks, with what takes back logs that were made up.
        :param within: how long an order takes at most.
        """
        self._watches = watches
        self._checks = checks
        self._take_back_logs = take_back_logs
        self._within = within

    async def find_halt(self, network: str) -> Halt:
        """
        :raises RequestRefused: when the network is not halted or not of the catalogue.
        """
        if network not in self._checks:
            raise RequestRefused(f"{network} is not a network of the catalogue")
        halt = await self._watches.find_halt(network)
        if halt is None:
            raise RequestRefused(f"{network} is not halted")
        return halt

    async def __call__(
        self, network: str, *, take_back: Sequence[str] = (), halted_at: datetime | None = None
    ) -> ResumeResult:
        """Clear the mark, once the chain agrees with what is stored.

        What waits is paid as soon as it is cleared: to halt again a moment later would be too late.
        So it is not cleared before the settler has read what was published, reverts included.
        What is taken back stays so when the network does not go on: every provider denied it.

        :param take_back: transactions, in lower case, with published logs that were made up.
        :param halted_at: only the halt that began then; None: whichever is on.
        :raises RequestRefused: when the chain contradicts it still, or the network is not
            halted, or not in the catalogue.
        :raises Unavailable: when no node answers, the settler has not read everything yet, or the
            time is over. What a check has read stays read: a repeated order goes on from there.
        """
        halt = await self.find_halt(network)
        if halted_at not in (None, halt.at):
            raise RequestRefused(
                f"{network} was halted anew at {halt.at.isoformat()}, {halt.reason}: order it again"
            )
        progress = _Progress(tuple(take_back))
        try:
            async with asyncio.timeout(self._within.total_seconds()):
                await self._carry_out(network, halt, progress)
        except TimeoutError as error:
            raise Unavailable(
                f"{progress.sentence}{progress.pending} within {self._within.total_seconds():g} "
                f"seconds: see in `swapctl network list` whether {network} is halted, and order "
                "it again"
            ) from error
        return progress.resumed

    async def _carry_out(self, network: str, halt: Halt, progress: _Progress) -> None:
        if progress.ordered:
            progress.pending = "the providers did not answer"
            progress.taken_back = await self._take_back_logs[network](progress.ordered)
        for _ in range(CHECKS_MAX):
            if await self._try(network, halt, progress):
                return
        raise Unavailable(
            f"{progress.sentence}more of {network} was published meanwhile: order it again"
        )

    async def _try(self, network: str, halt: Halt, progress: _Progress) -> bool:
        """Check and resume, and return whether nothing changed in between.

        :raises RequestRefused: when another halt took the place of the one that was ordered to end.
        """
        mark = await self._watches.find_halt_mark(network)
        if mark is None or mark.halted_at != halt.at:
            raise RequestRefused(
                f"{progress.sentence}the halt of {network} ended meanwhile: see how it stands now"
            )
        await self._check(network, progress)
        progress.pending = f"the settler has not read yet all that was published of {network}"
        while True:
            if await self._watches.is_read(network):
                break
            await asyncio.sleep(READ_CHECK.total_seconds())
        progress.pending = f"{network} was not resumed"
        return await self._watches.resume(network, mark)

    async def _check(self, network: str, progress: _Progress) -> None:
        progress.pending = f"the final blocks of {network} were not read a second time"
        try:
            for check in self._checks[network]:
                await check()
        except CONTRADICTIONS as error:
            raise RequestRefused(
                f"{progress.sentence}{network} would halt again: {error}"
            ) from error
        except ChainError as error:
            raise Unavailable(f"{progress.sentence}{error}") from error
