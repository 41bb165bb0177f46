"""An order to resume a network is bound to the halt that it was proposed for."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

import pytest
from starlette.responses import Response
from watch_factories import NETWORK
from watch_world import NOW, World

from swap_chain_watcher.domain.watch import Halt
from swap_chain_watcher.http.networks import add_routes
from swap_chain_watcher.usecases.report_networks import ReportNetworks
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder, OrderRoute
from swap_runtime.process.service import Service

pytestmark = pytest.mark.connected


class Routes:
    """The routes that a service collects from `add_routes`."""

    def __init__(self) -> None:
        self.orders: list[OrderRoute] = []

    def admin(self, *_: Any) -> None: ...

    def order(self, path: str, carry_out: Any, **more: Any) -> None:
        self.orders.append(OrderRoute(path, carry_out, **more))


@pytest.fixture
def route(world: World) -> OrderRoute:
    routes = Routes()
    add_routes(
        cast(Service, routes),
        report_networks=cast(ReportNetworks, None),
        resume_network=world.resuming(),
        resuming_needs_two=True,
    )
    return routes.orders[0]


async def propose(route: OrderRoute, **body: Any) -> OperatorOrder:
    assert route.add_facts is not None
    return await route.add_facts(
        OperatorOrder("ann", {"network": NETWORK}, json.dumps(body).encode())
    )


async def halt(world: World, reason: str, *, minutes: int = 0) -> None:
    await world.watches.halt(Halt(NETWORK, reason, NOW + timedelta(minutes=minutes)))


async def test_lifts_the_halt_that_was_shown(world: World, route: OrderRoute) -> None:
    async with world.follow():
        world.chain.mine(5)
        await world.is_at_head()
    with pytest.raises(RequestRefused, match="not halted"):
        await propose(route)
    await halt(world, "a node lied")

    proposed = await propose(route, reason="it was one node")
    assert json.loads(proposed.body)["halt"]["reason"] == "a node lied"
    answer: Response = await route.carry_out(proposed)

    assert (answer.status_code, await world.watches.find_halt(NETWORK)) == (200, None)


async def test_order_does_not_lift_a_later_halt(world: World, route: OrderRoute) -> None:
    async with world.follow():
        world.chain.mine(5)
        await world.is_at_head()
    await halt(world, "a node lied")
    first, second = await propose(route), await propose(route)
    await route.carry_out(first)
    await halt(world, "what was final changed", minutes=1)

    with pytest.raises(
        RequestRefused, match=r"halted anew .* what was final changed: order it again"
    ):
        await route.carry_out(second)

    assert await world.watches.find_halt(NETWORK) is not None


async def test_order_that_names_another_halt_is_refused(world: World, route: OrderRoute) -> None:
    async with world.follow():
        world.chain.mine(5)
        await world.is_at_head()
    await halt(world, "a node lied")

    with pytest.raises(RequestRefused, match="for another reason"):
        await propose(route, halt={"at": NOW.isoformat(), "reason": "nothing serious"})
