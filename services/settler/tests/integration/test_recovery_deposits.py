"""Holds that remain after a recovery: deposits that a forgotten payment may have paid."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from starlette.requests import Request

from services.settler.tests.integration.recovery_worlds import (
    opened_destination,
    opened_source,
)
from services.settler.tests.integration.test_expiring import followed
from services.settler.tests.integration.test_lane_schedules import Watcher
from services.settler.tests.integration.test_recovery_ends import (
    OPERATOR_ORDER,
    began,
    is_held,
    keep_on,
    statuses,
    try_to_end,
)
from services.settler.tests.lane_harness import (
    NOW,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_request,
    a_rise,
    address_of,
)
from services.settler.tests.recovery_harness import (
    fence,
    finishing,
    make_forgotten,
    mark_final_blocks_read,
    proving,
    restore_database,
)
from swap_contracts.envelope import Envelope
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.postgres.database import Engine
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.recovery.decide.recovery import RetainedHold
from swap_settler.recovery.http.recovery import COUNTS, RecoveryAdmin
from swap_settler.recovery.usecases.prove_recovery import ProveRecovery

pytestmark = pytest.mark.connected


@pytest.fixture
async def world(watcher: Engine, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_destination(migrate_schema) as world:
        yield world


@pytest.fixture
async def source_world(world: World, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_source(migrate_schema) as source_world:
        yield source_world


async def status_of(world: World, prove: ProveRecovery) -> dict[str, Any]:
    """Return what `swapctl recovery status` shows."""
    admin = RecoveryAdmin(finishing(world), prove)
    answer = await admin.show(Request({"type": "http", "method": "GET", "path": "/admin/recovery"}))
    shown: dict[str, Any] = json.loads(bytes(answer.body))
    return shown


async def ids_asked(
    monkeypatch: pytest.MonkeyPatch, world: World, source_world: World, prove: ProveRecovery
) -> int:
    """Return the number of calls to the chains in one more round."""
    calls = 0
    for side in (world, source_world):

        async def simulate(*_: Any, **__: Any) -> Any:
            nonlocal calls
            calls += 1
            return ()

        monkeypatch.setattr(side.reader, "simulate", simulate)
    assert not await prove()
    monkeypatch.undo()
    return calls


async def is_released_as_it_was_shown(world: World, retained: RetainedHold) -> None:
    """Assert that a proposal names the hold, and that a proposal for another hold is refused."""
    admin = RecoveryAdmin(finishing(world), proving(world))
    ordered = OperatorOrder("ann", {"id": str(retained.id)}, b'{"reason": "looked at"}')
    proposed = await admin.add_hold(ordered)
    form = json.loads(proposed.body)
    assert form["hold"] == {
        "kind": "deposit",
        "network": retained.network,
        "swap_id": None,
        "deposit_id": str(retained.deposit_id),
    }
    form["hold"]["deposit_id"] = None
    other = replace(proposed, body=json.dumps(form).encode())
    for refusing in (admin.release, admin.add_hold):
        with pytest.raises(RequestRefused, match="another one than was ordered"):
            await refusing(other)


@pytest.mark.breaks_invariants("I-27")
@pytest.mark.fault("P6")
async def test_p6_a_deposit_of_a_lost_swap_is_not_paid_out_again(
    world: World, watcher: Engine
) -> None:
    """Its swap began after the backup: only its deposit and its payment are read again."""
    await world.confirmed_swaps(1)
    await make_forgotten(world, 7, "output", nonce=0)
    world.chain.mine(4)
    await restore_database(world)
    await world.settle(a_deposit(7))
    await Watcher(world).report()
    await fence(world)
    assert await try_to_end(watcher, world)
    [retained] = await finishing(world).list_retained()
    [lost] = await finishing(world).list_forgotten(await began(world))
    assert (retained.deposit_id, lost.swap_id) == (a_deposit(7).body.deposit_id, None)
    await is_released_as_it_was_shown(world, retained)

    await world.request_swap(8)
    await world.rows("UPDATE swap SET created_at = now() WHERE sequence_number = 8 RETURNING 1")
    await world.rows(
        f"UPDATE deposit SET swap_id = '{a_request(8).body.swap_id}', attached_at = now() "
        f"WHERE id = '{retained.deposit_id}' RETURNING 1"
    )
    assert await is_held(world, 8)
    await finishing(world).release(retained.id, **OPERATOR_ORDER)

    assert not await is_held(world, 8)


@pytest.mark.breaks_invariants("I-27")
@pytest.mark.fault("P6")
async def test_p6_a_deposit_that_is_only_seen_stays_held(world: World, watcher: Engine) -> None:
    """It is confirmed and attached to a newer swap after the recovery."""
    await world.settle(a_funding(1))
    await make_forgotten(world, 7, "output", nonce=0)
    world.chain.mine(4)
    await restore_database(world)
    await world.settle(a_deposit(7, state="seen"))
    await Watcher(world).report()
    await fence(world)
    assert await try_to_end(watcher, world)

    [retained] = await finishing(world).list_retained()
    assert (retained.deposit_id, retained.kind) == (a_deposit(7).body.deposit_id, "deposit")


async def late_coins_of_a_restore(world: World, source_world: World) -> Envelope[Any]:
    """Send coins to an older address after the restore, besides a payment without a swap."""
    await world.settle(a_funding(1))
    await world.request_with_addresses(1, refund=True)
    await world.arrives(1)
    await keep_on(world)
    reporter = Watcher(world)
    await reporter.report()
    assert await statuses(world) == ["completed"]
    await make_forgotten(world, 7, "output", nonce=1)
    world.chain.mine(4)
    await restore_database(world)
    await reporter.report()
    since = {"block_time": await began(world) + timedelta(minutes=1), "came_after": NOW}
    late = a_rise(1, nth=1, **since)
    await world.settle(late)
    for side in (world, source_world):
        await fence(side)
    return late


@pytest.mark.breaks_invariants("I-27")
@pytest.mark.fault("P6")
async def test_p6_late_coins_that_are_split_otherwise_stay_held(
    world: World, source_world: World, watcher: Engine
) -> None:
    """Their refund was lost, and has the id of a deposit that is not read again."""
    late = await late_coins_of_a_restore(world, source_world)

    assert not await try_to_end(watcher, world, source_world)  # more coins may be there
    counted = await began(world) + timedelta(hours=1)
    await followed(watcher, address_of(1), counted_time=counted)
    assert await try_to_end(watcher, world, source_world)

    retained = await finishing(world).list_retained()
    assert late.body.deposit_id in [one.deposit_id for one in retained]
    assert await is_held(world, 1)


@pytest.mark.breaks_invariants("I-27")
async def test_a_recovery_shows_how_many_addresses_it_waits_for(
    world: World, source_world: World, watcher: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await late_coins_of_a_restore(world, source_world)
    prove = proving(world, source_world)
    await prove()  # it stores the heads first
    for side in (world, source_world):
        side.chain.mine(4)
    await mark_final_blocks_read(watcher, world, source_world)
    assert not await prove()

    [waited] = (await status_of(world, prove))["addresses"]
    assert (waited["network"], waited["uncounted"]) == (SOURCE, 1)
    assert waited["waits_for"].startswith(COUNTS)
    assert measured() == 1
    assert await ids_asked(monkeypatch, world, source_world, prove) == 0  # unknown ids stay unknown

    counted = await began(world) + timedelta(hours=1)
    await followed(watcher, address_of(1), counted_time=counted)
    assert await prove()
    assert (await status_of(world, prove))["addresses"] == []
    await finishing(world).find()
    assert measured() == 0


def measured() -> float | None:
    return REGISTRY.get_sample_value("swap_settler_recovery_addresses_uncounted")
