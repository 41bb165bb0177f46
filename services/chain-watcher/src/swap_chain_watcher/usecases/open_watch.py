"""Finds where to go on with a network, and makes sure that it is still the same chain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.watch import ChainBehind, Watch
from swap_chains.errors import BlockUnknown, ChainUnavailable, ReorgBeyondFinality
from swap_chains.events import Block
from swap_chains.ports import ChainReader

CheckChain = Callable[[], Awaitable[None]]


class OpenWatch:
    def __init__(
        self,
        watches: PostgresWatches,
        reader: ChainReader,
        *,
        check_chain: CheckChain,
        start_block: int,
    ) -> None:
        self._watches = watches
        self._reader = reader
        self._check_chain = check_chain
        self._start_block = start_block

    async def __call__(self) -> Watch:
        """Return the stored watch; a network's first one begins before its start block.

        :raises ChainMismatch: when the chain is not what the catalogue says.
        :raises ChainBehind: when the chain is not the one that was followed.
        :raises ChainUnavailable: when no node answers, or all are behind the cursor.
        :raises BlockUnknown: when the chain has not come to the start block.
        """
        network = self._reader.network
        await self._check_chain()
        watch = await self._watches.load(network)
        if watch is None:
            # Its own logs count too, so what is known first is the block before.
            first = await self._reader.block_at(max(self._start_block - 1, 0))
            await self._watches.start(network, first)
            watch = await self._watches.load(network)
            assert watch is not None
        await self.check(watch)
        return watch

    async def check_final(self) -> None:
        """Make sure that the chain has the final block that is stored of it.

        :raises ReorgBeyondFinality: when it has another one.
        :raises ChainMismatch: when the chain is not what the catalogue says.
        :raises ChainBehind: when the chain is not the one that was followed.
        :raises ChainUnavailable: when no node answers, or all are behind what is final.
        """
        await self._check_chain()
        watch = await self._watches.load(self._reader.network)
        if watch is None:
            return
        await self.check(watch)
        stored = await self._watches.find_nearest_block(watch.network, watch.finalized_number)
        if stored is None:
            return
        theirs = await self._reader.block_at(stored.number)
        if theirs.hash != stored.hash:
            raise ReorgBeyondFinality(watch.network, stored.number)

    async def check(self, watch: Watch) -> None:
        """Distinguish a lagging node from a chain that was restarted from nothing.

        :raises ChainBehind: when the chain has another block where we have one of its past.
        :raises ChainUnavailable: when the nodes are behind what is final, but of the same chain.
        """
        head = await self._reader.head(at_least=watch.finalized_number)
        if head.number >= watch.finalized_number:
            return
        stored = await self._watches.find_nearest_block(watch.network, head.number)
        # Below all stored blocks there may be another chain, or a node that syncs from the start.
        if stored is not None and await self._has_another(stored):
            raise ChainBehind(watch.network, head=head.number, finalized=watch.finalized_number)
        raise ChainUnavailable(watch.network, [f"the head {head.number} is behind our cursor"])

    async def _has_another(self, stored: Block) -> bool:
        """
        :raises ChainUnavailable: when no node has a block of that number, though its head is past.
        """
        try:
            return (await self._reader.block_at(stored.number)).hash != stored.hash
        except BlockUnknown as error:
            raise ChainUnavailable(self._reader.network, [str(error)]) from error
