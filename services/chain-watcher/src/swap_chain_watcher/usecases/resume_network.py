"""Lets a halted network go on, when a person has understood why it stopped."""

from __future__ import annotations

from collections.abc import Collection

from swap_chain_watcher.ports import Watches
from swap_runtime.errors import Refused


class ResumeNetwork:
    def __init__(self, watches: Watches, *, networks: Collection[str]) -> None:
        self._watches = watches
        self._networks = frozenset(networks)

    async def __call__(self, network: str) -> None:
        """Clear the mark. If the chain still contradicts what is stored, it halts again at once.

        :raises Refused: when the network is not halted, or not ours.
        """
        if network not in self._networks:
            raise Refused(f"{network} is not a network of the catalogue")
        if not await self._watches.resume(network):
            raise Refused(f"{network} is not halted")
