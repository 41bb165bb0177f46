"""Closing a network, on a real Postgres: the api refuses new swaps, and lanes continue."""

from __future__ import annotations

import pytest

from services.settler.tests.admin_port import as_operator
from services.settler.tests.lane_harness import DESTINATION, PAYOUT, SOURCE, World
from swap_runtime.errors import RequestRefused
from swap_settler.operator.http.closures import ClosureAdmin
from swap_settler.operator.store.closures import PostgresClosures
from swap_settler.operator.usecases.close_networks import CloseNetworks
from tests.support.serving import client_of, get, post

pytestmark = pytest.mark.connected
ORDER = {"by": "ann", "reason": "maintenance"}
STOPPED = "SELECT network FROM stopped_network"
SOURCES = "SELECT network FROM stopped_source"


@pytest.fixture
def close_networks(world: World) -> CloseNetworks:
    return CloseNetworks(PostgresClosures(world.engine), networks=[SOURCE, DESTINATION])


class TestAClosedNetwork:
    async def test_is_in_both_views_of_the_api_until_it_is_opened(
        self, world: World, close_networks: CloseNetworks
    ) -> None:
        await close_networks.close(DESTINATION, **ORDER)
        await close_networks.close(DESTINATION, by="vic", reason="again")

        for view in (STOPPED, SOURCES):
            assert [row.network for row in await world.rows(view)] == [DESTINATION]
        [closure] = await close_networks.list_all()
        assert {**closure, "at": None} == {
            "network": DESTINATION,
            "at": None,
            "by": "ann",
            "reason": "maintenance",
        }

        await close_networks.open(DESTINATION, by="ann", reason="done")

        assert await world.rows(STOPPED) == await world.rows(SOURCES) == []
        assert await close_networks.list_all() == []

    async def test_still_pays_the_swaps_under_way(
        self, world: World, close_networks: CloseNetworks
    ) -> None:
        await world.confirmed_swaps(1)
        for network in (SOURCE, DESTINATION):
            await close_networks.close(network, **ORDER)

        await world.send_everything()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT

    async def test_is_of_the_catalogue_and_is_not_opened_twice(
        self, close_networks: CloseNetworks
    ) -> None:
        with pytest.raises(RequestRefused, match="not a network of the catalogue"):
            await close_networks.close("NOWHERE", **ORDER)
        with pytest.raises(RequestRefused, match="is not closed"):
            await close_networks.open(SOURCE, **ORDER)

    async def test_is_ordered_and_listed_below_admin(self, close_networks: CloseNetworks) -> None:
        admin = ClosureAdmin(close_networks)
        routes = (
            get("/", admin.list_all),
            post("/close", as_operator(admin.close)),
            post("/open", as_operator(admin.open)),
        )
        order = {"network": SOURCE, "reason": "maintenance"}

        async with client_of(*routes) as http:
            without_reason = await http.post("/close", json={"network": SOURCE})
            closed = await (await http.post("/close", json=order)).json()
            listed = await (await http.get("/")).json()
            opened = await (await http.post("/open", json=order)).json()

        assert without_reason.status == 400
        assert closed == listed
        [row] = listed["closures"]
        assert (row["network"], row["by"], row["reason"]) == (SOURCE, "ann", "maintenance")
        assert opened == {"closures": []}
