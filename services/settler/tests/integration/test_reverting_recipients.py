"""A9: recipients that accept a payment in the simulation and revert when it is mined."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.settler.tests.integration.on_anvil import OnAnvil
from services.settler.tests.lane_harness import PAYOUT, World, a_recipient
from swap_runtime.postgres.sql import sql
from swap_settler.paying.decide.lane import RECIPIENT_REVERTS_MAX, REVERTS_MAX, Retries
from swap_settler.paying.usecases.abandon_payouts import AbandonPayouts

pytestmark = [pytest.mark.connected, pytest.mark.timeout(120)]

REVERTING = a_recipient(66)
# A call without a gas price is a simulation: it is accepted, and every other one reverts.
ACCEPTS_TRIALS_ONLY = "0x3a600557005b600080fd"
OF_HOSTILE = f"FROM intent WHERE to_address = '{REVERTING}'"


async def rounds(anvil_world: OnAnvil, count: int) -> None:
    """Send due payments, mine them, and close their slots."""
    for _ in range(count):
        async with anvil_world.world.engine.begin() as connection:
            await connection.execute(
                sql("UPDATE intent SET due_at = now() WHERE state = 'reserved'")
            )
        await anvil_world.world.send_everything()
        await anvil_world.mine(4)
        await anvil_world.world.close_slots()


async def reverted(world: World) -> int:
    [(count,)] = await world.rows("SELECT count(*) FROM receipt WHERE status = 0")
    return int(count)


@pytest.mark.fault("A9")
async def test_a9_all_payments_to_one_recipient_cost_a_bounded_number_of_reverts(
    anvil_world: OnAnvil,
) -> None:
    world = anvil_world.world
    await anvil_world.ask("anvil_setCode", REVERTING, ACCEPTS_TRIALS_ONLY)
    await world.confirmed_swaps(6, first=2, to_address=REVERTING)
    await world.confirmed_swaps(1, first=9)

    await rounds(anvil_world, 6)

    assert await reverted(world) == RECIPIENT_REVERTS_MAX
    assert {row.state for row in await world.rows(f"SELECT state {OF_HOSTILE}")} == {"dead"}
    assert await anvil_world.balance_of(a_recipient(9)) == PAYOUT
    owed = await world.rows("SELECT balance FROM account WHERE kind = 'claimable'")
    assert len(owed) == 6

    await world.confirmed_swaps(1, first=10, to_address=REVERTING)
    await rounds(anvil_world, 1)

    assert await reverted(world) == RECIPIENT_REVERTS_MAX
    assert {row.state for row in await world.rows(f"SELECT state {OF_HOSTILE}")} == {"dead"}


@pytest.mark.fault("A9")
async def test_a9_one_payment_is_tried_twice_in_blocks_and_its_recipient_is_paid_again_later(
    anvil_world: OnAnvil,
) -> None:
    world = anvil_world.world
    world.abandon_payouts = AbandonPayouts(
        world.work,
        clock=world.clock,
        swap_messages=world.swap_messages,
        retries=Retries(attempts_max=9, pause=timedelta(0), dwell=world.dwell),
    )
    await anvil_world.ask("anvil_setCode", REVERTING, ACCEPTS_TRIALS_ONLY)
    await world.confirmed_swaps(1, first=2, to_address=REVERTING)

    await rounds(anvil_world, 4)

    assert await reverted(world) == REVERTS_MAX
    [dead] = await world.rows(f"SELECT state, reverts, dead_proof {OF_HOSTILE}")
    assert (dead.state, dead.reverts) == ("dead", REVERTS_MAX)

    await anvil_world.ask("anvil_setCode", REVERTING, "0x")
    await world.confirmed_swaps(1, first=3, to_address=REVERTING)
    await rounds(anvil_world, 1)

    assert await anvil_world.balance_of(REVERTING) == PAYOUT
