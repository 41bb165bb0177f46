"""Operators' payments count under caps in dollars, and wait when a cap is full."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest

from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    NOW,
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_recipient,
)
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.sql import sql
from swap_settler.model.swap import Intent
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.store.caps import PostgresCaps
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.usecases.manage_caps import ManageCaps
from swap_settler.operator.usecases.pay_claimable import PayClaimable, PaymentOrder

pytestmark = pytest.mark.connected

OPERATOR_ORDER = {"by": "ann", "reason": "as agreed"}
DOLLARS = CapName(SOURCE)
DAY = timedelta(days=1)
ONE = 2_700_000_000  # the value of one unmatched deposit
PRICED = FixedPrices({(SOURCE, NATIVE): 2_700 * 10**18})
OWNER = a_recipient(77)


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        yield world


def keeping(world: World) -> ManageCaps:
    caps = PostgresCaps(world.engine, networks=[SOURCE])
    return ManageCaps(caps, catalogue=world.catalogue)


async def ordered(world: World, number: int, prices: FixedPrices = PRICED) -> Intent:
    """Add a deposit without a swap, and order its payment."""
    unmatched = {"kind": "native_received", "sequence_number": None}
    await world.settle(a_deposit(number, **unmatched))
    [row] = await world.rows(
        """
        SELECT id FROM account WHERE kind = 'suspense' AND balance <> 0
        AND id NOT IN (SELECT account.id FROM account JOIN intent USING (deposit_id))
        """
    )
    pay = PayClaimable(
        PostgresClaimUnitOfWork(world.engine, consumer="settler"),
        catalogue=world.catalogue,
        clock=lambda: NOW + timedelta(seconds=number),
        swap_messages=world.swap_messages,
        prices=prices,
    )
    return await pay(PaymentOrder(int(row.id), REQUESTED, OWNER, **OPERATOR_ORDER))


async def left(world: World) -> set[object]:
    rows = await world.rows("SELECT id FROM intent WHERE state <> 'reserved'")
    return {row.id for row in rows}


async def spent(world: World) -> int:
    [(units,)] = await world.rows("SELECT coalesce(sum(spent), 0) FROM outflow_spent")
    return int(units)


async def a_day_later(world: World) -> None:
    async with world.engine.begin() as connection:
        await connection.execute(sql("UPDATE outflow_spent SET until = until - interval '2 days'"))
        await connection.execute(sql("UPDATE outflow_cap SET set_at = set_at - interval '2 days'"))
        await connection.execute(sql("UPDATE intent SET slot_at = slot_at - interval '2 days'"))


async def test_a16_a_claim_counts_and_the_next_waits_until_there_is_room(world: World) -> None:
    await keeping(world).set(DOLLARS, CapLimit(ONE, DAY), **OPERATOR_ORDER)
    first = await ordered(world, 5)
    second = await ordered(world, 6)

    await world.send_everything()

    assert await left(world) == {first.id}
    assert await spent(world) == ONE
    [waits] = await keeping(world).list_queued(limit=20)
    assert (waits["intent_id"], waits["reason"]) == (
        str(second.id),
        "the cap has no room for it yet",
    )

    await a_day_later(world)
    await world.send_everything()

    assert await left(world) == {first.id, second.id}


async def test_a16_a_claim_without_a_price_waits_beside_the_line(world: World) -> None:
    await keeping(world).set(DOLLARS, CapLimit(ONE, DAY), **OPERATOR_ORDER)
    unpriced = await ordered(world, 5, FixedPrices())
    priced = await ordered(world, 6)

    await world.send_everything()

    assert await left(world) == {priced.id}
    [waits] = await keeping(world).list_queued(limit=20)
    assert waits["intent_id"] == str(unpriced.id)
    assert waits["reason"] == "it has no price to count under the cap: let the payment through"

    await keeping(world).grant_pass(unpriced.id, **OPERATOR_ORDER)
    await world.send_everything()

    assert await left(world) == {priced.id, unpriced.id}
    assert await spent(world) == ONE


async def test_a16_a_claim_without_a_price_leaves_where_no_dollars_are_counted(
    world: World,
) -> None:
    await keeping(world).set(CapName(SOURCE, "ETH"), CapLimit(REQUESTED, DAY), **OPERATOR_ORDER)
    unpriced = await ordered(world, 5, FixedPrices())

    await world.send_everything()

    assert await left(world) == {unpriced.id}
    assert await spent(world) == REQUESTED
