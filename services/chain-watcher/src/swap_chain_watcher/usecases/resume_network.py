"""Lets a halted network go on, when a person has understood why it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from swap_chain_watcher.domain.denials import RisesDenied
from swap_chain_watcher.domain.second_look import MovementsDenied
from swap_chain_watcher.domain.watch import BrokenChain, ChainBehind
from swap_chain_watcher.ports import Halt, Watches
from swap_chain_watcher.usecases.take_back_logs import TakeBackLogs
from swap_chains.errors import ChainError, ReorgBeyondFinality
from swap_runtime.errors import Refused, Unavailable

CONTRADICTIONS: Final = (
    ReorgBeyondFinality,
    ChainBehind,
    BrokenChain,
    MovementsDenied,
    RisesDenied,
)
# The settler notes every five seconds, while it is busy, how far it has read.
READ_WITHIN: Final = timedelta(seconds=7)
READ_CHECK: Final = timedelta(milliseconds=100)
CHECKS_MAX: Final = 3  # a check that publishes what was missed is repeated
Check = Callable[[], Awaitable[None]]


class ResumeNetwork:
    def __init__(
        self,
        watches: Watches,
        *,
        checks: Mapping[str, Sequence[Check]],
        take_back_logs: Mapping[str, TakeBackLogs],
        read_within: timedelta = READ_WITHIN,
    ) -> None:
        """
        :param checks: for each network, what must not raise before it goes on.
        :param take_back_logs: the same networks, with what takes back logs that were made up.
        :param read_within: how long the settler is waited for.
        """
        self._watches = watches
        self._checks = checks
        self._take_back_logs = take_back_logs
        self._read_within = read_within

    async def __call__(self, network: str, *, take_back: Sequence[str] = ()) -> None:
        """Clear the mark, once the chain agrees with what is stored.

        What waits is paid as soon as it is cleared: to halt again a moment later would be too late.
        So it is not cleared before the settler has read what was published, reverts included.
        What is taken back stays so when the network does not go on: every provider denied it.

        :param take_back: transactions, in lower case, of which published logs were made up.
        :raises Refused: when the chain contradicts it still, or the network is not halted or ours.
        :raises Unavailable: when no node tells, or the settler has not read everything yet.
        """
        if network not in self._checks:
            raise Refused(f"{network} is not a network of the catalogue")
        halt = await self._watches.find_halt(network)
        if halt is None:
            raise Refused(f"{network} is not halted")
        said = ""
        if take_back:
            await self._take_back_logs[network](take_back)
            said = f"{', '.join(take_back)} is taken back and stays so, but "
        for _ in range(CHECKS_MAX):
            if await self._try(network, halt, said):
                return
        raise Unavailable(f"{said}more of {network} is published meanwhile: order it again")

    async def _try(self, network: str, halt: Halt, said: str) -> bool:
        """Check and resume, and say whether nothing changed in between.

        :raises Refused: when another halt took the place of the one that was ordered to end.
        """
        mark = await self._watches.find_halt_mark(network)
        if mark is None or mark.halted_at != halt.at:
            raise Refused(f"{said}the halt of {network} ended meanwhile: see how it stands now")
        await self._check(network, said)
        if not await self._is_read(network):
            raise Unavailable(
                f"{said}the settler has not read yet all that was published of {network}: "
                "order it again"
            )
        return await self._watches.resume(network, mark)

    async def _check(self, network: str, said: str) -> None:
        """
        :param said: what was done already, for the words of a refusal.
        """
        try:
            for check in self._checks[network]:
                await check()
        except CONTRADICTIONS as error:
            raise Refused(f"{said}{network} would halt again: {error}") from error
        except ChainError as error:
            raise Unavailable(f"{said}{error}") from error

    async def _is_read(self, network: str) -> bool:
        for _ in range(self._read_within // READ_CHECK):
            if await self._watches.is_read(network):
                return True
            await asyncio.sleep(READ_CHECK.total_seconds())
        return await self._watches.is_read(network)
