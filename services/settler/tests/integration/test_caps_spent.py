"""The payments that the spent amount of a cap is the sum of, on a real Postgres."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import pytest

from services.settler.tests.admin_port import weighing
from services.settler.tests.integration.test_caps import (
    DAY,
    MICROS,
    OF_TOKEN,
    OPERATOR_ORDER,
    cap,
    keeping,
    order_reservations,
    pass_time,
)
from services.settler.tests.lane_harness import DESTINATION, PAYOUT, World, a_recipient
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.http.caps import CapAdmin
from tests.support.serving import client_of, get

pytestmark = pytest.mark.connected


def client(world: World) -> AbstractAsyncContextManager[aiohttp.ClientSession]:
    admin = CapAdmin(keeping(world), weighing(world.engine, world.catalogue))
    spent = get("/admin/caps/{id}/spent", admin.list_spent)
    return client_of(get("/admin/caps", admin.list_all), spent)


async def spent_payments(world: World) -> list[dict[str, Any]]:
    """Return what counts under the only cap, page by page. Its sum is what the cap has as spent."""
    async with client(world) as http:
        [cap] = (await (await http.get("/admin/caps")).json())["caps"]
        path, query, shown = f"/admin/caps/{cap['id']}/spent", {"limit": "2"}, []
        following: dict[str, str] | None = {}
        while following is not None:
            answer = await http.get(path, params=query | following)
            page = await answer.json()
            assert answer.status == 200, page
            assert page["cap"] == cap
            shown += page["payments"]
            following = page["next"]
    assert len({one["intent_id"] for one in shown}) == len(shown)
    assert sum(int(one["units"]) for one in shown) == int(cap["spent"])
    return shown


@pytest.mark.parametrize("name", [OF_TOKEN, CapName(DESTINATION)])
async def test_spent_lists_the_payments_that_its_spent_amount_is_the_sum_of(
    world: World, name: CapName
) -> None:
    await keeping(world).set(name, CapLimit(9 * MICROS * PAYOUT, DAY), **OPERATOR_ORDER)
    await world.confirmed_swaps(1)
    await world.send_everything()
    world.chain.refuse(a_recipient(1))
    world.chain.mine(3)
    await world.close_slots()
    assert await world.intent_states() == ["reserved"]  # proven not to have left
    await world.confirmed_swaps(3, first=2)
    await order_reservations(world, 0, 1, 1, 1)
    await world.send_everything()
    shown = await spent_payments(world)

    assert len(shown) == 3
    assert {one["state"] for one in shown} == {"broadcast"}
    sent = await world.rows("SELECT DISTINCT transaction_hash FROM attempt WHERE nonce > 0")
    assert {one["transaction_hash"] for one in shown} == {row.transaction_hash for row in sent}
    assert len({one["swap_id"] for one in shown}) == 3
    await pass_time(world, DAY / 2)
    await world.confirmed_swaps(1, first=5)
    await world.send_everything()
    assert len(await spent_payments(world)) == 4
    await pass_time(world, DAY * 7 / 12)
    assert len(await spent_payments(world)) == 1
    await pass_time(world, DAY)
    assert await spent_payments(world) == []


async def test_spent_lists_no_payments_of_a_lifted_or_unknown_cap(world: World) -> None:
    await cap(world, 1)
    [known] = await keeping(world).list_all()
    await keeping(world).lift(OF_TOKEN, **OPERATOR_ORDER)
    async with client(world) as http:
        for id in (known.id, 999, "x"):
            assert (await http.get(f"/admin/caps/{id}/spent")).status == 404
