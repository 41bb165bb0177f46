"""R5: reorgs remove deposits that were paid out; above a budget the network's deposits wait."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.settler.tests.lane_harness import (
    DESTINATION,
    PAYOUT,
    SOURCE,
    World,
    a_deposit,
)
from swap_runtime.errors import RequestRefused
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.usecases.guard_losses import GuardLosses

pytestmark = pytest.mark.connected
OPERATOR_ORDER = {"by": "ann", "reason": "it waits for more blocks now"}
ONE = 3000 * 10**6  # the value of a deposit, in millionths of a dollar
DAY = timedelta(days=1)


def guarding(world: World, *, budget: int = ONE - 1, span: timedelta = DAY) -> GuardLosses:
    budgets = {SOURCE: budget, DESTINATION: budget}
    return GuardLosses(PostgresLosses(world.engine), budgets=budgets, span=span)


async def paid_for(world: World, number: int) -> None:
    """Complete a swap."""
    await world.confirmed_swaps(1, first=number)
    await world.send_everything()
    world.chain.mine()
    [newest] = await world.rows("SELECT transaction_hash FROM attempt ORDER BY nonce DESC LIMIT 1")
    results = {"transaction_hash": newest.transaction_hash, "is_first": False}
    await world.payout("confirmed", version=number, **results)  # type: ignore[arg-type]


async def lost(world: World, number: int = 1) -> None:
    await paid_for(world, number)
    await world.settle(a_deposit(number, version=3, state="reverted"))


async def stopped(world: World) -> list[str]:
    return [stop.network for stop in await PostgresLosses(world.engine).list_stops()]


@pytest.mark.fault("R5")
async def test_r5_a_loss_beyond_the_budget_stops_what_is_paid_for_its_network(
    world: World,
) -> None:
    alarms = REGISTRY.get_sample_value("swap_settler_loss_budgets_spent_total", {"network": SOURCE})
    await lost(world)
    await guarding(world)()
    await guarding(world)()
    await world.confirmed_swaps(1, first=2)

    await world.send_everything()
    world.chain.mine()

    [stop] = await PostgresLosses(world.engine).list_stops()
    assert stop.network == SOURCE
    assert stop.reason.startswith("reorgs took $3000.00 within 1 day, 0:00:00")
    assert world.paid_amount(2) == 0
    assert "reserved" in await world.intent_states()
    value = REGISTRY.get_sample_value
    labels = {"network": SOURCE}
    assert value("swap_settler_loss_budgets_spent_total", labels) == (alarms or 0) + 1
    assert value("swap_settler_source_stopped", labels) == 1
    assert value("swap_settler_lost_usd_micros", labels) == ONE


@pytest.mark.fault("R5")
async def test_r5_loss_within_the_budget_stops_no_network(world: World) -> None:
    await lost(world)

    await guarding(world, budget=ONE)()

    assert await stopped(world) == []


@pytest.mark.fault("R5")
async def test_r5_what_is_mined_again_is_no_loss(world: World) -> None:
    await lost(world)
    await world.settle(a_deposit(1, version=4))

    await guarding(world, budget=0)()

    assert await stopped(world) == []


@pytest.mark.fault("R5")
async def test_r5_what_was_lost_long_ago_counts_no_more(world: World) -> None:
    await lost(world)

    await guarding(world, budget=0, span=timedelta(0))()

    assert await stopped(world) == []


@pytest.mark.fault("R5")
async def test_r5_network_that_an_operator_lifted_is_stopped_only_by_another_loss(
    world: World,
) -> None:
    await lost(world)
    guard = guarding(world)
    await guard()
    await world.confirmed_swaps(1, first=2)
    await world.send_everything()

    assert await guard.lift(SOURCE, **OPERATOR_ORDER) == []
    await guard()
    await world.rows("UPDATE intent SET due_at = now() WHERE state = 'reserved' RETURNING 1")
    await world.send_everything()
    world.chain.mine()

    assert await stopped(world) == []
    assert world.paid_amount(2) == PAYOUT
    await lost(world, 3)
    await guard()
    assert await stopped(world) == [SOURCE]
    with pytest.raises(RequestRefused, match="not stopped"):
        await guard.lift(DESTINATION, **OPERATOR_ORDER)


@pytest.mark.fault("R5")
async def test_r5_loss_lifted_during_its_comparison_stops_no_network(
    world: World,
) -> None:
    await lost(world)
    losses, guard = PostgresLosses(world.engine), guarding(world)
    await guard()
    [counted] = (await losses.counted_losses(DAY)).values()
    await guard.lift(SOURCE, **OPERATOR_ORDER)

    assert not await losses.stop(SOURCE, because="late", last_lifted=counted.last_lifted)

    assert await stopped(world) == []


@pytest.mark.fault("R5")
async def test_r5_deposits_of_another_network_are_paid(world: World) -> None:
    await PostgresLosses(world.engine).stop(
        DESTINATION, because="it was that one", last_lifted=None
    )
    await world.confirmed_swaps(1)

    await world.send_everything()
    world.chain.mine()

    assert world.paid_amount(1) == PAYOUT


@pytest.mark.fault("R5")
async def test_r5_a_lane_that_looked_before_hands_out_no_nonce_after_it(world: World) -> None:
    await world.confirmed_swaps(1)
    waiting = (await world.store.due(limit=1)).payments
    await PostgresLosses(world.engine).stop(SOURCE, because="reorgs", last_lifted=None)

    assert not await world.store.assign([tuple(waiting)], epoch=world.epoch)

    assert await world.rows("SELECT 1 FROM nonce_slot") == []


@pytest.mark.fault("R5")
async def test_r5_what_has_a_nonce_already_goes_for_later_ones_would_wait(world: World) -> None:
    await world.confirmed_swaps(1)
    waiting = (await world.store.due(limit=1)).payments
    await world.store.assign([tuple(waiting)], epoch=world.epoch)
    await PostgresLosses(world.engine).stop(SOURCE, because="reorgs", last_lifted=None)

    await world.send_everything()
    world.chain.mine()

    assert world.paid_amount(1) == PAYOUT
