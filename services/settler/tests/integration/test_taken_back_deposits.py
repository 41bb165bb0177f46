"""W1: a deposit that was confirmed and that every provider denies; its block stays where it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from decimal import Decimal

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DESTINATION,
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
)

pytestmark = [pytest.mark.connected, pytest.mark.fault("W1")]


@pytest.fixture
async def world(migrated: Callable[[str], str]) -> AsyncIterator[World]:
    migrated("chain_watcher")
    async with opened_world(migrated("settler"), DESTINATION) as world:
        yield world


async def taken_back(world: World) -> None:
    await world.settle(a_deposit(1, version=3, state="reverted"))


async def sent(world: World) -> None:
    await world.confirmed_swaps(1)
    await world.send_everything()
    world.chain.mine()


async def confirmed(world: World) -> None:
    [attempt] = await world.rows("SELECT transaction_hash FROM attempt")
    await world.payout("confirmed", version=1, transaction_hash=attempt.transaction_hash)


async def balances(world: World) -> dict[str, int]:
    """Return what the ledger has of the source, by the kind of account."""
    rows = await world.rows(
        f"SELECT kind, sum(balance) AS units FROM account WHERE network = '{SOURCE}' "
        "GROUP BY kind HAVING sum(balance) <> 0"
    )
    return {row.kind: int(Decimal(row.units)) for row in rows}


async def statuses(world: World) -> list[str]:
    return [row.status for row in await world.rows("SELECT status FROM swap")]


async def test_before_its_payout_was_signed_it_is_as_if_it_never_came(world: World) -> None:
    await world.confirmed_swaps(1)
    assert await world.intent_states() == ["reserved"]

    await taken_back(world)
    await world.send_everything()

    assert await balances(world) == {}
    assert await world.intent_states() == ["dead"]
    assert await world.rows("SELECT 1 FROM attempt") == []
    assert await statuses(world) == ["user_transfer_pending"]


async def test_after_its_payout_is_final_it_is_a_loss_and_owed_to_nobody(world: World) -> None:
    await sent(world)
    await confirmed(world)
    before = await balances(world)

    await taken_back(world)
    await taken_back(world)  # delivered twice

    after = await balances(world)
    assert after["loss"] - before.get("loss", 0) == REQUESTED
    assert before["custody"] - after.get("custody", 0) == REQUESTED
    assert {kind for kind in after if after[kind] != before.get(kind)} == {"loss"}
    assert await statuses(world) == ["completed"]


async def test_while_its_payout_is_out_the_end_of_the_payout_decides(world: World) -> None:
    await sent(world)
    await taken_back(world)
    assert "loss" not in await balances(world)

    await confirmed(world)

    assert (await balances(world))["loss"] == REQUESTED
