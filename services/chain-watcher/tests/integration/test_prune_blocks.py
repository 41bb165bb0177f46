"""Old blocks are deleted, except those that evidence, a reorg or another look needs."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest
from watch_factories import NETWORK
from watch_world import SECOND, World

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.old_blocks import PostgresOldBlocks
from swap_chain_watcher.usecases.prune_blocks import PruneBlocks
from swap_chains.fake import FakeReader
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected
KEEP: Final = timedelta(days=30)
BLOCKS: Final = 10


def pruning(world: World, *, after: timedelta = timedelta(days=31)) -> PruneBlocks:
    """Return the use case, with a clock a given time after the last block."""
    now = world.chain.blocks[-1].time + after
    return PruneBlocks(
        PostgresOldBlocks(world.engine), networks=[NETWORK], keep=KEEP, clock=lambda: now
    )


async def stored(world: World, state: str = "canonical") -> list[int]:
    async with world.engine.connect() as connection:
        rows = await connection.scalars(
            sql("SELECT number FROM chain_block WHERE state = :state ORDER BY number"),
            {"state": state},
        )
    return list(rows)


async def follow(world: World) -> None:
    """Store the blocks, and read the final ones a second time."""
    async with world.follow():
        world.chain.mine(1)
        await world.deposits(1)
        world.chain.mine(BLOCKS - 1)
        await world.is_at_head()
    await world.second_look(FakeReader(world.chain, provider=SECOND))()


async def bounds(world: World) -> tuple[int, int]:
    """Return the first block that is stored without a gap, and the last one read twice."""
    async with world.engine.connect() as connection:
        row = (
            await connection.execute(sql("SELECT start_number, checked_number FROM watch_cursor"))
        ).one()
    return row.start_number, row.checked_number


async def test_deletes_final_blocks_without_movements(world: World) -> None:
    await follow(world)
    _, checked = await bounds(world)
    counted = observe.PRUNED.labels(NETWORK)._value.get()

    assert not await pruning(world)()

    assert checked > 3
    # The deposit's block is evidence; blocks from the last one that was read twice are kept.
    assert await stored(world) == [2, *range(checked, BLOCKS + 1)]
    assert (await bounds(world))[0] == checked
    assert observe.PRUNED.labels(NETWORK)._value.get() == counted + checked - 1


async def test_pruning_keeps_young_blocks(world: World) -> None:
    await follow(world)
    before = await stored(world)

    await pruning(world, after=timedelta(days=29))()

    assert await stored(world) == before


async def test_pruning_keeps_blocks_without_a_second_look(world: World) -> None:
    async with world.follow():
        world.chain.mine(BLOCKS)
        await world.is_at_head()
    before = await stored(world)

    await pruning(world)()

    assert await stored(world) == before


async def test_pruning_keeps_blocks_that_a_reorg_removed(world: World) -> None:
    async with world.follow():
        world.chain.mine(2)
        await world.is_at_head()
        world.chain.reorg(1)
        world.chain.mine(BLOCKS)
        await world.is_at_head()
    await world.second_look(FakeReader(world.chain, provider=SECOND))()

    await pruning(world)()

    assert await stored(world, "orphan") == [2]


async def test_pruning_and_the_follower_continue_where_they_ended(world: World) -> None:
    async with world.follow():
        for _ in range(3):
            world.chain.mine(BLOCKS)
            await world.is_at_head()
            await world.second_look(FakeReader(world.chain, provider=SECOND))()
            await pruning(world)()
            # The follower's first state is older and must not return.
            world.chain.mine(1)
            await world.is_at_head()

    start, checked = await bounds(world)
    assert start == checked
    assert (await stored(world))[0] == start


async def test_a_restarted_follower_finds_its_position(world: World) -> None:
    await follow(world)
    await pruning(world)()

    async with world.follow():
        world.chain.mine(3)
        await world.is_at_head()

    assert (await stored(world))[-1] == BLOCKS + 3
    assert await world.watches.find_halt(NETWORK) is None
