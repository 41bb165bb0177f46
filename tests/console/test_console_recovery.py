"""Recovery: the number of held payments links to the payments that it is made of."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Callable

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, World
from services.settler.tests.recovery_harness import finishing, proving, restore_database, watching
from swap_runtime.operators.admin_routes import AdminRoute
from swap_runtime.postgres.sql import sql
from swap_settler.recovery.http.recovery import RecoveryAdmin
from tests.console.operator_services import ADDRESS, Console, only_settler
from tests.console.test_console_lists import reads_of
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        yield world
        await watching(world)()  # the next test begins with a database that is known
        async with world.engine.begin() as connection:
            await connection.execute(sql("TRUNCATE recovery CASCADE"))


async def test_number_of_held_payments_links_to_their_swaps(
    world: World, database: Database
) -> None:
    await watching(world)()
    await world.confirmed_swaps(2)
    await restore_database(world)
    await world.rows(
        "INSERT INTO refund_due (network, swap_id) SELECT source_network, id FROM swap RETURNING 1"
    )
    admin = RecoveryAdmin(finishing(world), proving(world))
    reads = [
        *reads_of(world),
        AdminRoute("GET", "/recovery", admin.show),
        AdminRoute("GET", "/recovery/held", admin.list_held),
    ]
    async with only_settler(world.engine, database, reads=reads, orders=()) as services:
        console = Console(services, public_url=ADDRESS)
        browser = await console.sign_in_as("vic")
        recovery = (await browser.get("/recovery")).text
        [(path, count)] = re.findall(r'<a class="num" href="([^"]+)">([0-9]+)</a>', recovery)
        held = (await browser.get(html.unescape(path))).text
        await console.http.close()

    rows = held.partition("<tbody>")[2].count("<tr>")
    swaps = await world.rows("SELECT id FROM swap")
    assert (path, count, rows) == ("/recovery/held", "4", 4)
    for swap in swaps:
        assert held.count(f'href="/swaps/{swap.id}"') == 4  # the amount and the id, of two rows
    assert held.count("not calculated yet") == 2
