"""Nodes of several providers on a fake chain, some of them lying."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from watch_factories import (
    NETWORK,
    a_deposit,
)
from watch_world import SECOND, World

from swap_chains.events import Block, BlockAdded, Deposited, Movement
from swap_chains.fake import FakeReader
from swap_chains.ports import BlockReport
from swap_runtime.postgres.sql import sql

FIRST, THIRD = "first.example", "third.example"
FALSE_DEPOSIT = a_deposit("invented")
TRANSACTION = FALSE_DEPOSIT.id.transaction_hash
Change = Callable[[BlockAdded], BlockAdded]


class FalsifyingReader(FakeReader):
    """A node that reports false blocks."""

    change: Change = staticmethod(lambda added: added)

    async def follow_batches(self, **place: Any) -> Any:
        async for batch in super().follow_batches(**place):
            yield [self.change(one) if isinstance(one, BlockAdded) else one for one in batch]

    async def movements(self, **place: Any) -> Any:
        found = {added.block.number: added for added in await super().movements(**place)}
        for block in self._chain.blocks[place["first"] : place["last"].number + 1]:
            reported = replace(block, provider=self._provider)
            added = self.change(found.get(block.number, BlockAdded(reported, ())))
            found[block.number] = added
        return [found[number] for number in sorted(found) if found[number].movements]


class UnavailableReader(FakeReader):
    """A node that gives no usable answer about a block."""

    async def block_of_each_provider(
        self, block: Block, *, transaction_hashes: Collection[str]
    ) -> Sequence[BlockReport]:
        return [BlockReport(self._provider, None, f"{self._provider}: no header")]


class Providers(FakeReader):
    """Nodes of several providers. Requests that need only one use the first."""

    def __init__(self, *readers: FakeReader) -> None:
        super().__init__(readers[0]._chain, provider=readers[0]._provider)
        self._readers = readers

    async def movements(self, **place: Any) -> Any:
        excluded = place.get("excluded_providers", ())
        others = [one for one in self._readers if one._provider not in excluded]
        return await others[0].movements(**place)

    async def block_of_each_provider(
        self, block: Block, *, transaction_hashes: Collection[str]
    ) -> Sequence[BlockReport]:
        reports: list[BlockReport] = []
        for reader in self._readers:
            reports += await reader.block_of_each_provider(
                block, transaction_hashes=transaction_hashes
            )
        return reports


def adding(*movements: Movement, at: int = 1) -> Change:
    """Return a change that adds movements to a block."""

    def change(added: BlockAdded) -> BlockAdded:
        if added.block.number != at:
            return added
        return replace(added, movements=(*added.movements, *movements))

    return change


def sent_by(address: str) -> Change:
    """Return a change that reports another sender of the deposits."""

    def change(added: BlockAdded) -> BlockAdded:
        changed = [
            replace(one, from_address=address) if isinstance(one, Deposited) else one
            for one in added.movements
        ]
        return replace(added, movements=tuple(changed))

    return change


def false_reader(
    world: World, change: Change | None = None, *, provider: str = FIRST
) -> FalsifyingReader:
    node = FalsifyingReader(world.chain, provider=provider)
    node.change = change or adding(FALSE_DEPOSIT)  # type: ignore[method-assign]
    return node


def correct_reader(world: World, provider: str = SECOND) -> FakeReader:
    return FakeReader(world.chain, provider=provider)


def two_correct_readers(world: World) -> Providers:
    return Providers(correct_reader(world), correct_reader(world, THIRD))


async def halted_by_false_node(
    world: World, node: FalsifyingReader | None = None, *, blocks: int = 9
) -> None:
    """Publish a node's invented movements, and have the second look halt the network."""
    async with world.follow(node or false_reader(world)):
        world.chain.mine(blocks)
        await world.is_at_head()
    await world.second_look(correct_reader(world))()
    assert "lack 1 of the movements" in await world.is_halted()


async def is_halted(world: World) -> bool:
    return await world.watches.find_halt(NETWORK) is not None


async def rows(world: World, statement: str) -> list[Any]:
    async with world.engine.connect() as connection:
        return list(await connection.execute(sql(statement)))
