"""Following the head: polls, appends, reorgs, and quick catching up behind finality."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from swap_chains.errors import (
    ChainUnavailable,
    InconsistentAnswer,
    NodeRefused,
    NodeUnreachable,
    ReorgBeyondFinality,
)
from swap_chains.events import Block, BlockAdded, BlocksFinalized, ChainEvent
from swap_chains.evm import block_fetcher
from swap_chains.evm.agreed_finality import AgreedFinality
from swap_chains.evm.blocks import Tail, header_at, headers_at, to_block
from swap_chains.evm.movements import LogScope
from swap_chains.evm.provider_agreement import final_block, require_at_other_provider
from swap_chains.evm.rpc import Backoff, Node, Rpc

# The same bytes every time: an answer equal to the last one needs no parsing.
_POLL: Final = orjson.dumps(
    {"jsonrpc": "2.0", "id": 0, "method": "eth_getBlockByNumber", "params": ["latest", False]}
)
# With only a token's transfers, the queries about them fit into one request.
_STEP_BLOCKS_MAX: Final = 80
_RANGE_BLOCKS_FIRST: Final = 500
_ANCESTOR_SEARCH_FIRST: Final = 8


@dataclass(frozen=True, slots=True)
class Pace:
    """How eagerly a chain is followed."""

    poll_seconds: float = 0.25
    # With nothing new for so long, another node may be further.
    stale_after_seconds: float = 30.0
    range_blocks_max: int = 10_000
    # A wider gap is read by ranges, up to the final block.
    gap_blocks_max: int = 32


@dataclass(frozen=True, slots=True)
class _Step:
    """What one round found out. It changes nothing until it is taken."""

    ancestor: Block | None = None
    added: Sequence[BlockAdded] = ()
    claim: Block | None = None  # what the node alone calls final
    finalized: Block | None = None  # what is final: compared already, where there are two providers
    has_more: bool = False  # and the next round need not wait
    seen: bytes | None = None  # the poll's answer that has been dealt with


class Follower:
    """One run of `follow_batches`: where it stands, and how to go on."""

    def __init__(
        self,
        rpc: Rpc,
        scope: LogScope,
        pace: Pace,
        *,
        after: Block,
        recent: Sequence[Block] = (),
        moved_at: float | None = None,
    ) -> None:
        """
        :param moved_at: since when the chain stands at `after`, by the loop's clock; else from now.
        """
        self._rpc = rpc
        self._scope = scope
        self._pace = pace
        self._wake_event = asyncio.Event()  # set when there is a result of two providers
        self._tail = Tail([*(b for b in recent if b.number < after.number), after])
        self._seen: bytes | None = None
        self._step_blocks = _STEP_BLOCKS_MAX
        self._range_blocks = min(_RANGE_BLOCKS_FIRST, pace.range_blocks_max)
        self._backoff = Backoff(pace.poll_seconds)
        self._finality = AgreedFinality(rpc, self._wake_event, pause_seconds=pace.poll_seconds)
        self._moved_at = asyncio.get_running_loop().time() if moved_at is None else moved_at

    @property
    def position(self) -> tuple[Block, float]:
        """Where it has come to, and since when it is there."""
        return self._tail.last, self._moved_at

    async def batches(self) -> AsyncGenerator[Sequence[ChainEvent], None]:
        """Yield what each round found. While one is used, the next of a catch-up is fetched.

        :raises ReorgBeyondFinality: when no common ancestor is left.
        :raises FinalBlocksDiffer: when two providers call different blocks of one height final.
        """
        ahead: asyncio.Task[_Step] | None = None
        try:
            while True:
                step = await (ahead or self._round())
                ahead = None
                events = self._apply(step)
                if step.has_more:
                    ahead = asyncio.create_task(self._round())
                if events:
                    yield events
                if ahead is None:
                    await self._wait(has_events=bool(events))
        finally:
            if ahead is not None:
                ahead.cancel()
            await self._finality.close()

    async def _round(self) -> _Step:
        failures = 0
        while True:
            try:
                return await self._rpc.on_one_node(self._advance, rounds=1)
            except (ChainUnavailable, NodeRefused):
                await asyncio.sleep(self._backoff.seconds(failures))
                failures += 1

    async def _wait(self, *, has_events: bool) -> None:
        now = asyncio.get_running_loop().time()
        if has_events:
            self._moved_at = now
        elif now - self._moved_at > self._pace.stale_after_seconds:
            self._rpc.prefer_next_node()
            self._moved_at = now
        try:
            async with asyncio.timeout(self._pace.poll_seconds):
                await self._wake_event.wait()
        except TimeoutError:
            return
        self._wake_event.clear()

    def _apply(self, step: _Step) -> list[ChainEvent]:
        events: list[ChainEvent] = []
        if step.ancestor is not None:
            events.append(self._tail.cut_after(step.ancestor))
        for added in step.added:
            self._tail.append(added.block)
            events.append(added)
        final = step.finalized or self._finality.update(step.claim)
        finalized = self._tail.finalize(final)
        if finalized is not None:
            events.append(BlocksFinalized(finalized))
        self._seen = step.seen
        return events

    async def _advance(self, node: Node) -> _Step:
        await node.verify()
        answer = await node.post(_POLL)
        if answer == self._seen:
            return _Step(seen=answer)
        step = await self._reconcile(node, to_block(node, node.result_of(answer)))
        return step if step.has_more else replace(step, seen=answer)

    async def _reconcile(self, node: Node, head: Block) -> _Step:
        last = self._tail.last
        if self._tail.has(head):
            return await self._step_without_blocks(node)
        if head.number < self._tail.oldest.number:
            raise InconsistentAnswer(node.label, f"its head {head.number} is behind finality")
        if head.number == last.number + 1 and head.parent_hash == last.hash:
            return await self._append(node, [head], head)
        if head.number > last.number:
            return await self._close_gap(node, head)
        return await self._find_ancestor(node, head)

    async def _step_without_blocks(self, node: Node) -> _Step:
        """At the reader's end, or behind it: a lagging node shows known blocks, and reverts
        nothing.
        """
        if self._tail.finalized is not None:
            return _Step()
        return _Step(claim=await self._find_final_block(node))

    async def _append(self, node: Node, blocks: Sequence[Block], head: Block) -> _Step:
        added, claim = await block_fetcher.by_hash(node, self._scope, blocks)
        return _Step(added=added, claim=claim, has_more=blocks[-1] != head)

    async def _close_gap(self, node: Node, head: Block) -> _Step:
        last = self._tail.last
        if head.number - last.number > self._pace.gap_blocks_max:
            finalized = await self._final_for_ranges(node)
            if finalized is not None and finalized.number > last.number:
                return await self._append_range(node, finalized, head)
        end = min(head.number, last.number + self._step_blocks)
        count = end - last.number
        try:
            blocks = await headers_at(node, range(last.number + 1, end + 1))
            if blocks[0].parent_hash != last.hash:
                return await self._find_ancestor(node, head)
            step = await self._append(node, blocks, head)
        except (NodeRefused, NodeUnreachable, InconsistentAnswer):
            # Whatever is wrong with the node: it, or the next one, may take less at once.
            self._step_blocks = max(count // 2, 1)
            raise
        if count == self._step_blocks:
            self._step_blocks = min(count + count // 2 + 1, _STEP_BLOCKS_MAX)
        return step

    async def _append_range(self, node: Node, finalized: Block, head: Block) -> _Step:
        last = self._tail.last
        end = min(finalized.number, last.number + self._range_blocks)
        count = end - last.number
        try:
            first, added = await block_fetcher.by_range(
                node, self._scope, first=last.number + 1, last=end
            )
        except (NodeRefused, NodeUnreachable) as failure:
            # Nodes say in many ways that a range is too much, one is to hang up.
            self._range_blocks = max(count // 2, 1)
            if isinstance(failure, NodeRefused) and count > 1:
                return _Step(has_more=True)
            raise
        if first.parent_hash != last.hash:
            return await self._find_ancestor(node, head)
        if self._finality.needs_two:
            await require_at_other_provider(self._rpc, added[-1].block)
        self._step_blocks = _STEP_BLOCKS_MAX
        self._range_blocks = min(count + count // 2 + 1, self._pace.range_blocks_max)
        return _Step(added=added, finalized=added[-1].block, has_more=True)

    async def _find_ancestor(self, node: Node, head: Block) -> _Step:
        tail = self._tail
        number, count = min(tail.last.number, head.number), _ANCESTOR_SEARCH_FIRST
        while numbers := tail.numbers_down_from(number, count):
            for block in await headers_at(node, numbers):
                if block == tail.last:
                    raise InconsistentAnswer(node.label, f"two answers about block {block.number}")
                if tail.has(block):
                    return _Step(ancestor=block, has_more=True)
            number, count = numbers[-1] - 1, count * 4
        raise ReorgBeyondFinality(self._rpc.network, tail.oldest.number)

    async def _final_for_ranges(self, node: Node) -> Block | None:
        """Return up to where empty blocks may be skipped; None where two providers do not say."""
        if not self._finality.needs_two:
            return await self._find_final_block(node)
        try:
            return await final_block(self._rpc)
        except (ChainUnavailable, NodeRefused):
            return None

    async def _find_final_block(self, node: Node) -> Block | None:
        (answer,) = await node.batch([header_at("finalized")])
        return block_fetcher.finalized_in(node, answer)
