"""Reading an EVM network."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing

from swap_chains.errors import (
    BlockDiffers,
    ChainError,
    InconsistentAnswer,
    NodeRefused,
    NodeUnreachable,
)
from swap_chains.events import Block, BlockAdded, ChainEvent, Movement
from swap_chains.evm import block_fetcher, codec
from swap_chains.evm.blocks import headers_at
from swap_chains.evm.follower import Follower, Pace
from swap_chains.evm.movements import LogScope, to_logs
from swap_chains.evm.provider_agreement import answers_of_each_provider
from swap_chains.evm.reported_transfers import in_logs
from swap_chains.evm.rpc import Node, Rpc
from swap_chains.evm.state import EvmState
from swap_chains.ports import BlockReport, ReportedTransfers


class EvmReader(EvmState):
    """A ChainReader over JSON-RPC: facts in order, and the state of EvmState."""

    def __init__(
        self,
        rpc: Rpc,
        *,
        depository: str,
        treasury: str,
        tokens: Collection[str],
        factory: str | None = None,
        watched: AbstractSet[str] = frozenset(),
        pace: Pace | None = None,
        needs_two: bool = False,
        has_blooms: bool = False,
    ) -> None:
        """
        :param factory: of the watched addresses.
        :param watched: in lower case; it may grow while it is followed.
        :param has_blooms: a log counts only if the bloom of its block's header has it.
        """
        super().__init__(rpc, needs_two=needs_two)
        self._scope = LogScope.of(
            depository, treasury, tokens, watched, factory, has_blooms=has_blooms
        )
        self._pace = pace or Pace()
        self._last_position: tuple[Block, float] | None = None  # where it was left, and since when

    async def follow_batches(
        self, *, after: Block, recent: Sequence[Block] = ()
    ) -> AsyncGenerator[Sequence[ChainEvent], None]:
        # Repeated opening does not extend the trust in a node that stands still.
        moved_at = (
            self._last_position[1]
            if self._last_position and self._last_position[0] == after
            else None
        )
        follower = Follower(
            self._rpc,
            self._scope,
            self._pace,
            after=after,
            recent=recent,
            moved_at=moved_at,
        )
        try:
            async with aclosing(follower.batches()) as batches:
                async for batch in batches:
                    yield batch
        finally:
            self._last_position = follower.position

    async def movements(
        self,
        *,
        first: int,
        last: Block,
        to: Collection[str] | None = None,
        excluded_providers: Collection[str] = (),
    ) -> Sequence[BlockAdded]:
        if to is not None and not (to and self._scope.tokens):
            return []

        async def read(node: Node) -> Sequence[BlockAdded]:
            return await self._movements(node, first, last, to)

        return await (
            self._on_one_node(read, excluded_providers=excluded_providers)
            if excluded_providers
            else self._read_pinned(read)
        )

    async def block_of_each_provider(
        self, block: Block, *, transaction_hashes: Collection[str]
    ) -> Sequence[BlockReport]:
        hashes = sorted(transaction_hashes)

        async def read(node: Node) -> tuple[Movement, ...]:
            found = await self._movements(node, block.number, block, None)
            logs = await block_fetcher.logs_of_receipts(node, self._scope, block, hashes)
            movements = tuple(movement for added in found for movement in added.movements)
            # A node that has lost its index of logs answers as if the block had none.
            known = Counter(movement.id.transaction_hash for movement in movements)
            if any(known[h] < len(logs[h]) for h in hashes):
                raise InconsistentAnswer(node.label, "its receipts have logs that it does not find")
            return movements

        answers = await answers_of_each_provider(self._rpc, read)
        return [
            BlockReport(provider, None, str(answer))
            if isinstance(answer, ChainError)
            else BlockReport(provider, answer)
            for provider, answer in answers.items()
        ]

    async def _movements(
        self, node: Node, first: int, last: Block, to: Collection[str] | None
    ) -> Sequence[BlockAdded]:
        (end,) = await headers_at(node, [last.number])
        if end != last:
            raise BlockDiffers(node.label, last.number)
        added: list[BlockAdded] = []
        size = self._pace.range_blocks_max
        while first <= last.number:
            upto = min(first + size - 1, last.number)
            try:
                added += await self._in_range(node, first, upto, to)
            except (NodeRefused, NodeUnreachable):
                if upto == first:
                    raise
                size = (upto - first + 1) // 2
                continue
            first = upto + 1
        return added

    async def _in_range(
        self, node: Node, first: int, last: int, to: Collection[str] | None
    ) -> list[BlockAdded]:
        if to is not None:
            return await block_fetcher.transfers_to(
                node, self._scope, to=to, first=first, last=last
            )
        _, added = await block_fetcher.by_range(node, self._scope, first=first, last=last)
        return [block for block in added if block.movements]

    async def reported_transfers(self, transaction_hash: str) -> ReportedTransfers | None:
        async def read(node: Node) -> ReportedTransfers | None:
            receipt = await node.call("eth_getTransactionReceipt", transaction_hash)
            if receipt is None:
                return None
            (block,) = await headers_at(node, [codec.from_quantity(receipt["blockNumber"])])
            if block.hash != receipt["blockHash"].lower():
                raise InconsistentAnswer(node.label, "a receipt of a block that was replaced")
            transfers = in_logs(to_logs(node.label, receipt["logs"]))
            return ReportedTransfers(block, codec.from_quantity(receipt["status"]) == 1, transfers)

        return await self._on_one_node(read)
