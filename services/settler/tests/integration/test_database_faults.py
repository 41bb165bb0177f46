"""Database faults in a lane: lost answers, and rows that cannot be stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, PAYOUT, World, expect_wrong_nonces
from swap_runtime.errors import Unavailable
from tests.plugins.cutting_proxy import CuttingProxy, cutting_proxy
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
NUMBERS = (1, 2, 3)
READ_ONLY = "ALTER ROLE settler IN DATABASE {database} SET default_transaction_read_only = on"
WRITABLE = "ALTER ROLE settler IN DATABASE {database} RESET default_transaction_read_only"
END_SESSIONS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE usename = 'settler' AND datname = current_database()
"""
# Postgres answers with this code when it cannot extend a file.
FILL_DISK = """
CREATE FUNCTION settler.fill_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON settler.{table}
FOR EACH ROW EXECUTE FUNCTION settler.fill_disk()
"""
FREE_DISK = "DROP FUNCTION settler.fill_disk CASCADE"


@pytest.fixture
async def proxied(
    migrate_schema: Callable[[str], str],
) -> AsyncIterator[tuple[CuttingProxy, World]]:
    async with (
        cutting_proxy(migrate_schema("settler")) as (proxy, through),
        opened_world(through, DESTINATION) as world,
    ):
        yield proxy, world


@contextmanager
def read_only(database: Database) -> Iterator[None]:
    """Refuse every write of the settler, as a replica or a full volume does."""
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(READ_ONLY.format(database=database.name).encode())
        connection.execute(END_SESSIONS)
        try:
            yield
        finally:
            connection.execute(WRITABLE.format(database=database.name).encode())
            connection.execute(END_SESSIONS)


@contextmanager
def full_disk(database: Database, table: str) -> Iterator[None]:
    """Have Postgres refuse every new row of a table."""
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(FILL_DISK.format(table=table).encode())
        try:
            yield
        finally:
            connection.execute(FREE_DISK)


async def payments(world: World) -> tuple[int, int, list[int]]:
    slots = await world.rows("SELECT 1 FROM nonce_slot")
    attempts = await world.rows("SELECT 1 FROM attempt")
    return len(slots), len(attempts), [world.paid_amount(number) for number in NUMBERS]


@pytest.mark.fault("P1")
@pytest.mark.parametrize("after", range(3), ids=["storing the bytes", "marking", "marking again"])
async def test_p1_a_payment_whose_commit_has_no_answer_is_made_once(
    proxied: tuple[CuttingProxy, World], after: int
) -> None:
    proxy, world = proxied
    await world.confirmed_swaps(len(NUMBERS))

    proxy.lose(after=after)
    for _ in range(3):
        with suppress(Unavailable):
            await world.send_everything()
            await world.rebroadcast()
    world.chain.mine()

    assert proxy.cuts == 1
    assert await payments(world) == (1, 1, [PAYOUT] * len(NUMBERS))


@pytest.mark.fault("P7")
class TestWhatCannotBeStored:
    async def test_p7_payments_are_not_sent_while_the_database_is_read_only(
        self, world: World, database: Database
    ) -> None:
        await world.confirmed_swaps(len(NUMBERS))

        with read_only(database), pytest.raises(Unavailable):
            await world.send_everything()

        assert world.chain.pool == {}
        await world.send_everything()
        world.chain.mine()
        assert await payments(world) == (1, 1, [PAYOUT] * len(NUMBERS))

    async def test_p7_a_message_is_delivered_again_while_the_database_is_read_only(
        self, world: World, database: Database
    ) -> None:
        with read_only(database), pytest.raises(Unavailable):
            await world.confirmed_swaps(1)

        await world.confirmed_swaps(1)
        assert await world.intent_states() == ["reserved"]

    @pytest.mark.parametrize("storing", ["with its nonce", "after its nonce"])
    async def test_p7_payments_that_do_not_fit_on_the_disk_are_not_sent(
        self, world: World, database: Database, storing: str
    ) -> None:
        await world.confirmed_swaps(len(NUMBERS))

        with full_disk(database, "attempt"), pytest.MonkeyPatch.context() as patch:
            if storing == "after its nonce":
                expect_wrong_nonces(patch)
            for _ in range(2):
                with pytest.raises(Unavailable):
                    await world.send_everything()

        assert world.chain.pool == {}
        await world.send_everything()
        world.chain.mine()
        assert await payments(world) == (1, 1, [PAYOUT] * len(NUMBERS))

    async def test_p7_no_replacement_is_sent_that_does_not_fit_on_the_disk(
        self, world: World, database: Database
    ) -> None:
        await world.confirmed_swaps(len(NUMBERS))
        await world.send_everything()
        original = dict(world.chain.pool)
        world.chain.base_fee *= 10
        replace = world.replacing()
        await replace(epoch=world.epoch)
        world.chain.mine(2)

        with full_disk(database, "attempt"), pytest.raises(Unavailable):
            await replace(epoch=world.epoch)

        assert world.chain.pool == original
        await replace(epoch=world.epoch)
        world.chain.mine()
        assert await payments(world) == (1, 2, [PAYOUT] * len(NUMBERS))
