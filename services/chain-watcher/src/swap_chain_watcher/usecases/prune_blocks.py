"""Deletes old blocks that no movement is in."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.old_blocks import PostgresOldBlocks
from swap_runtime.clock import Clock

BATCH_MAX: Final = 1000


class PruneBlocks:
    """Delete final blocks that were read twice, when they are old. Any replica may do it.

    A block with a movement is evidence of money and stays.
    """

    def __init__(
        self,
        blocks: PostgresOldBlocks,
        *,
        networks: Collection[str],
        keep: timedelta,
        clock: Clock,
    ) -> None:
        self._blocks = blocks
        self._networks = sorted(networks)
        self._keep = keep
        self._clock = clock

    async def __call__(self) -> bool:
        """Look at some of each network, and say whether there may be more."""
        before, has_more = self._clock() - self._keep, False
        for network in self._networks:
            pruned = await self._blocks.prune(network, before=before, limit=BATCH_MAX)
            observe.blocks_pruned(network, pruned.deleted)
            has_more |= pruned.examined == BATCH_MAX
        return has_more
