"""What a lookup costs does not grow with the chain behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest
from watch_factories import NETWORK
from watch_world import World

from swap_chain_watcher.adapters import statements
from swap_runtime.sql import Statement, sql

pytestmark = pytest.mark.connected

BLOCKS = 5000
PAGES_PER_ROW_MAX = 20  # the index, the row, its block's index and row, with room
ADDRESS = "0x000000000000000000000000000000000000dEaD"
FILL = (
    """
INSERT INTO chain_block (network, hash, number, parent_hash, time, state, finalized)
SELECT :network, 'hash' || n, n, 'hash' || n - 1, now(), 'canonical', true
FROM generate_series(1, :blocks) AS n
""",
    """
INSERT INTO movement (network, block_hash, id, block_number, kind, transaction_hash, token,
                      from_address, to_address, base_units, version, state,
                      confirmations_required, waits_for_finality, total_before)
SELECT :network, 'hash' || n, gen_random_uuid(), n, 'balance_rose', 'tx' || n, :address,
       :address, CASE n % 1000 WHEN 0 THEN :address ELSE 'somebody' || n END, 1, 1, 'confirmed',
       1, false, n
FROM generate_series(1, :blocks) AS n
""",
)


async def pages(world: World, statement: Statement, values: Mapping[str, Any]) -> int:
    """Return how many pages a statement looks at."""
    asked = Statement(
        f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement.text}", statement.names
    )
    async with world.engine.connect() as connection:
        plan = (await connection.scalar(asked, values))[0]["Plan"]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


@pytest.mark.parametrize("has_statistics", [False, True])
async def test_a_second_look_and_an_addresss_sums_touch_what_they_ask_for_alone(
    world: World, has_statistics: bool
) -> None:
    async with world.engine.connect() as connection:
        for fill in FILL:
            values = {"network": NETWORK, "blocks": BLOCKS, "address": ADDRESS}
            await connection.execute(sql(fill), values)
        if has_statistics:
            await connection.execute("ANALYZE chain_block, movement")
        ids: list[UUID] = await connection.scalars("SELECT id FROM movement LIMIT 5")

    looked = await pages(world, statements.STORED_MOVEMENTS, {"network": NETWORK, "ids": ids})
    summed = await pages(
        world,
        statements.RECEIVED,
        {"network": NETWORK, "addresses": [ADDRESS], "native": ADDRESS},
    )

    async with world.engine.connect() as connection:
        await connection.execute("TRUNCATE chain_block, movement")  # no chain made them
    assert looked <= PAGES_PER_ROW_MAX * len(ids)
    assert summed <= PAGES_PER_ROW_MAX * (BLOCKS // 1000)
