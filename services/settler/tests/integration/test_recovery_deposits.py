"""What a recovery goes on holding when it ends: deposits that a forgotten payment may be for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest

from services.settler.tests.integration.lane_worlds import opened_world
from services.settler.tests.integration.test_expiring import followed
from services.settler.tests.integration.test_lane_schedules import Watcher
from services.settler.tests.integration.test_recovery_ends import (
    SAID,
    SIGNER_HERE,
    began,
    is_held,
    keep_on,
    proven,
    statuses,
)
from services.settler.tests.lane_world import (
    DESTINATION,
    NOW,
    SIGNER,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_request,
    a_rise,
    address_of,
)
from services.settler.tests.recovering import fence, finishing, forgotten, restored, watching
from swap_domain.catalogue import NATIVE
from swap_runtime.database import Engine

pytestmark = pytest.mark.connected


@pytest.fixture
async def world(watcher: Engine, migrated: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrated("settler"), DESTINATION) as world:
        world.chain.give(SIGNER, NATIVE, 10**18)
        await world.close_slots()  # the ledger has its gas money
        yield world
        await watching(world)()  # the next test begins with a database that is known


@pytest.fixture
async def here(world: World, migrated: Callable[[str], str]) -> AsyncIterator[World]:
    """The source, beside the destination."""
    async with opened_world(
        migrated("settler"), SOURCE, beside_another=True, signer=SIGNER_HERE
    ) as here:
        here.chain.give(SIGNER_HERE, NATIVE, 10**18)
        await here.close_slots()
        yield here


@pytest.mark.breaks_invariants("I-27")
@pytest.mark.fault("P6")
async def test_p6_a_deposit_of_a_forgotten_swap_is_not_paid_out_again(
    world: World, watcher: Engine
) -> None:
    """Its swap began after the backup: only its deposit and its payment are read again."""
    await world.confirmed_swaps(1)
    await forgotten(world, 7, "output", nonce=0)
    world.chain.mine(4)
    await restored(world)
    await world.settle(a_deposit(7))
    await Watcher(world).tell()
    await fence(world)
    assert await proven(watcher, world)
    [retained] = await finishing(world).list_retained()
    [lost] = await finishing(world).list_forgotten(await began(world))
    assert (retained.deposit_id, lost.swap_id) == (a_deposit(7).body.deposit_id, None)

    await world.requested(8)
    await world.rows("UPDATE swap SET created_at = now() WHERE sequence_number = 8 RETURNING 1")
    await world.rows(
        f"UPDATE deposit SET swap_id = '{a_request(8).body.swap_id}', attached_at = now() "
        f"WHERE id = '{retained.deposit_id}' RETURNING 1"
    )
    assert await is_held(world, 8)
    await finishing(world).release(retained.id, **SAID)

    assert not await is_held(world, 8)


@pytest.mark.breaks_invariants("I-27")
@pytest.mark.fault("P6")
async def test_p6_a_deposit_that_is_only_seen_stays_held(world: World, watcher: Engine) -> None:
    """It is confirmed and attached to a newer swap after the recovery."""
    await world.settle(a_funding(1))
    await forgotten(world, 7, "output", nonce=0)
    world.chain.mine(4)
    await restored(world)
    await world.settle(a_deposit(7, state="seen"))
    await Watcher(world).tell()
    await fence(world)
    assert await proven(watcher, world)

    [retained] = await finishing(world).list_retained()
    assert (retained.deposit_id, retained.kind) == (a_deposit(7).body.deposit_id, "deposit")


@pytest.mark.breaks_invariants("I-27")
@pytest.mark.fault("P6")
async def test_p6_late_coins_that_are_split_otherwise_stay_held(
    world: World, here: World, watcher: Engine
) -> None:
    """Their refund was forgotten, and has the id of a deposit that is not read again."""
    await world.settle(a_funding(1))
    await world.addressed(1, refund=True)
    await world.arrives(1)
    await keep_on(world)
    tells = Watcher(world)
    await tells.tell()
    assert await statuses(world) == ["completed"]
    await forgotten(world, 7, "output", nonce=1)
    world.chain.mine(4)
    await restored(world)
    await tells.tell()
    since = {"block_time": await began(world) + timedelta(minutes=1), "came_after": NOW}
    late = a_rise(1, nth=1, **since)
    await world.settle(late)
    for side in (world, here):
        await fence(side)

    assert not await proven(watcher, world, here)  # more coins may be there
    counted = await began(world) + timedelta(hours=1)
    await followed(watcher, address_of(1), counted_time=counted)
    assert await proven(watcher, world, here)

    retained = await finishing(world).list_retained()
    assert late.body.deposit_id in [one.deposit_id for one in retained]
    assert await is_held(world, 1)
