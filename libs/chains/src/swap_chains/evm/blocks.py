"""Headers as nodes send them, and the stretch of chain that can still change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from swap_chains.errors import InconsistentAnswer
from swap_chains.events import Block, BlocksReverted
from swap_chains.evm.codec import from_quantity, from_word, to_quantity
from swap_chains.evm.rpc import Node, Request

BLOCK_NUMBER_MAX: Final = 2**63 - 1  # as it is kept


def header_at(number: int | str) -> Request:
    """Ask for the header at a number, or at a tag such as `latest`."""
    place = number if isinstance(number, str) else to_quantity(number)
    return Request("eth_getBlockByNumber", (place, False))


async def find_header(node: Node, number: int | str) -> Block | None:
    """Fetch the header at a number or tag; None where there is none yet."""
    (answer,) = await node.batch([header_at(number)])
    if answer is None:
        return None
    block = to_block(node, answer)
    if block.number != number and isinstance(number, int):
        raise InconsistentAnswer(node.label, f"block {block.number} in place of {number}")
    return block


def header_of(block_hash: str) -> Request:
    """Ask for the header of a hash, canonical or not."""
    return Request("eth_getBlockByHash", (block_hash, False))


def to_block(node: Node, answer: Any) -> Block:
    """Read a header.

    :raises InconsistentAnswer: when it is none: the node does not have the block, or hides it.
    """
    if isinstance(answer, Exception):
        raise answer
    if not isinstance(answer, Mapping):
        raise InconsistentAnswer(node.label, "no header")
    try:
        number = from_quantity(answer["number"])
        if number > BLOCK_NUMBER_MAX:
            raise ValueError(f"block {number}")
        return Block(
            number=number,
            hash=from_word(answer["hash"]),
            parent_hash=from_word(answer["parentHash"]),
            time=datetime.fromtimestamp(from_quantity(answer["timestamp"]), UTC),
            provider=node.provider,
            bloom=answer.get("logsBloom"),
        )
    except (KeyError, ValueError, OverflowError, OSError) as error:  # the last of a far time
        raise InconsistentAnswer(node.label, f"a broken header: {error!r}") from error


async def headers_at(node: Node, numbers: Sequence[int]) -> list[Block]:
    """Fetch headers by number, and hold each against its number and its neighbour.

    :raises InconsistentAnswer: when they are not of one chain.
    """
    answers = await node.batch([header_at(number) for number in numbers])
    blocks = [to_block(node, answer) for answer in answers]
    by_number = {block.number: block for block in blocks}
    for number, block in zip(numbers, blocks, strict=True):
        if block.number != number:
            raise InconsistentAnswer(node.label, f"block {block.number} in place of {number}")
        below = by_number.get(number - 1)
        if below is not None and below.hash != block.parent_hash:
            raise InconsistentAnswer(node.label, f"block {number} does not follow its parent")
    return blocks


class Tail:
    """The reported blocks that can still change: from the last finalized one to the end."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = list(blocks)
        self._hashes = {block.number: block.hash for block in blocks}
        self._ahead: Block | None = None
        self.finalized: Block | None = None

    @property
    def last(self) -> Block:
        return self._blocks[-1]

    @property
    def oldest(self) -> Block:
        return self._blocks[0]

    def has(self, block: Block) -> bool:
        return self._hashes.get(block.number) == block.hash

    def numbers_down_from(self, number: int, count: int) -> list[int]:
        """Return at most `count` of the numbers at or below `number`, the highest first."""
        return [b.number for b in reversed(self._blocks) if b.number <= number][:count]

    def append(self, block: Block) -> None:
        self._blocks.append(block)
        self._hashes[block.number] = block.hash

    def cut_after(self, ancestor: Block) -> BlocksReverted:
        """Drop the blocks after the ancestor, which a reorg replaced; return the event."""
        remaining = [block for block in self._blocks if block.number <= ancestor.number]
        reverted = tuple(self._blocks[len(remaining) :])
        self._blocks = remaining
        self._hashes = {block.number: block.hash for block in remaining}
        return BlocksReverted(ancestor=remaining[-1], reverted=reverted)

    def finalize(self, claim: Block | None) -> Block | None:
        """Return the newly finalized block, if the chain's claim is about a block in here.

        A claim ahead of the end is kept until the end gets there. Older claims are ignored: a final
        block stays final, regardless of the queried node.
        """
        claims = [c for c in (claim, self._ahead) if c is not None]
        newer = [c for c in claims if self._is_newer(c)]
        ahead = [c for c in claims if c.number > self.last.number]
        # The nearest one: a newer claim may be ahead of every block that is ever the last.
        self._ahead = min(ahead, key=_number, default=None)
        return self._cut_before(max(newer, key=_number)) if newer else None

    def _is_newer(self, claim: Block) -> bool:
        is_newer = self.finalized is None or claim.number > self.finalized.number
        return is_newer and self.has(claim)

    def _cut_before(self, finalized: Block) -> Block:
        self._blocks = [block for block in self._blocks if block.number >= finalized.number]
        self._hashes = {block.number: block.hash for block in self._blocks}
        self.finalized = finalized
        return finalized


def _number(block: Block) -> int:
    return block.number
