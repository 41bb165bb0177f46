"""Lets a halted network go on, when a person has understood why it stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from swap_chain_watcher.domain.denials import RisesDenied
from swap_chain_watcher.domain.second_look import MovementsDenied
from swap_chain_watcher.domain.watch import BrokenChain, ChainBehind
from swap_chain_watcher.ports import Watches
from swap_chains.errors import ChainError, ReorgBeyondFinality
from swap_runtime.errors import Refused, Unavailable

CONTRADICTIONS: Final = (
    ReorgBeyondFinality,
    ChainBehind,
    BrokenChain,
    MovementsDenied,
    RisesDenied,
)
Check = Callable[[], Awaitable[None]]


class ResumeNetwork:
    def __init__(self, watches: Watches, *, checks: Mapping[str, Sequence[Check]]) -> None:
        """
        :param checks: for each network, what must not raise before it goes on.
        """
        self._watches = watches
        self._checks = checks

    async def __call__(self, network: str) -> None:
        """Clear the mark, once the chain agrees with what is stored.

        What waits is paid as soon as it is cleared: to halt again a moment later would be too late.

        :raises Refused: when the chain contradicts it still, or the network is not halted or ours.
        :raises Unavailable: when no node tells.
        """
        if network not in self._checks:
            raise Refused(f"{network} is not a network of the catalogue")
        if await self._watches.find_halt(network) is None:
            raise Refused(f"{network} is not halted")
        try:
            for check in self._checks[network]:
                await check()
        except CONTRADICTIONS as error:
            raise Refused(f"{network} would halt again: {error}") from error
        except ChainError as error:
            raise Unavailable(str(error)) from error
        if not await self._watches.resume(network):
            raise Refused(f"{network} is not halted")
