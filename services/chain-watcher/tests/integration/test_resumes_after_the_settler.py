"""A halt is lifted only after the settler has read all published messages.

A lane pays as soon as the halt is lifted, so the reverts must be in the ledger before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from false_providers import (
    FALSE_DEPOSIT,
    TRANSACTION,
    adding,
    false_reader,
    halted_by_false_node,
    is_halted,
    rows,
    two_correct_readers,
)
from pydantic import SecretStr
from watch_factories import NETWORK, a_deposit, a_policy_of_two
from watch_world import NOW, World

from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.watch import Halt
from swap_chains.events import BlockAdded
from swap_runtime.errors import RequestRefused, Unavailable
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.sql import sql

pytestmark = [pytest.mark.connected, pytest.mark.fault("W1")]

SOON = timedelta(seconds=3)
HALTS = "SELECT halted_at, halt_reason, revision, last_outbox_id FROM watch_cursor"
LATER = a_deposit("later", swap_key=f"0x{9:064x}")  # in a block that is not final


class InterruptedWatches(PostgresWatches):
    """Watches with one concurrent change after the check that the settler has read all."""

    interrupt: Callable[[], Awaitable[object]] | None = None

    async def is_read(self, network: str) -> bool:
        is_read = await super().is_read(network)
        if is_read and self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            await interrupt()
        return is_read


@pytest.fixture
def world(world: World) -> World:
    world.policy = a_policy_of_two()
    world.watches = InterruptedWatches(world.engine)
    return world


@pytest.fixture
async def settler(migrate_schema: Callable[[str], str]) -> AsyncIterator[Engine]:
    """Return the settler's database, with its watermark before all published messages."""
    engine = create_engine(SecretStr(migrate_schema("settler")), application_name="test")
    await execute(engine, "DELETE FROM watermark")
    await execute(
        engine,
        "INSERT INTO watermark (consumer, source, topic) VALUES "
        "('settler', 'chain_watcher', 'deposit.changed.v1')",
    )
    yield engine
    await execute(engine, "DELETE FROM watermark")
    await engine.dispose()


async def test_the_network_stays_halted_until_the_reverts_are_read(
    world: World, settler: Engine
) -> None:
    await halted_by_false_node(world)
    await mark_all_read(settler)
    resume_network = world.resuming(two_correct_readers(world), within=SOON)

    with pytest.raises(
        Unavailable, match=f"{TRANSACTION} is taken back and stays so, but the settler has not read"
    ):
        await resume_network(NETWORK, take_back=[TRANSACTION])
    assert await is_halted(world)
    with pytest.raises(
        Unavailable, match=f"{TRANSACTION} was taken back by an earlier order, but the settler"
    ):
        await resume_network(NETWORK, take_back=[TRANSACTION])
    assert await is_halted(world)
    await mark_all_read(settler)
    resumed = await resume_network(NETWORK, take_back=[TRANSACTION])

    assert not await is_halted(world)
    assert (resumed.taken_back, resumed.taken_back_before) == ((), (TRANSACTION,))


@pytest.mark.parametrize(
    ("never_answered", "sentence"),
    [
        ("block_of_each_provider", "whether {} is taken back is not known: the providers did not"),
        ("movements", "{} is taken back and stays so, but the final blocks of {} were not read"),
    ],
)
async def test_an_order_that_takes_too_long_ends_with_a_list_of_finished_parts(
    world: World, monkeypatch: pytest.MonkeyPatch, never_answered: str, sentence: str
) -> None:
    """It ends at its timeout; a repeated order continues from there.

    The settler has no watermark here, so it has nothing to read before the resume.
    """
    await halted_by_false_node(world)
    reader = two_correct_readers(world)

    async def waits(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(reader, never_answered, waits)

    with pytest.raises(Unavailable, match=sentence.format(TRANSACTION, NETWORK)) as cut_short:
        await world.resuming(reader, within=SOON)(NETWORK, take_back=[TRANSACTION])

    assert "within 3 seconds: see in `swapctl network list`" in str(cut_short.value)
    assert await is_halted(world)
    await world.resuming(two_correct_readers(world))(NETWORK, take_back=[TRANSACTION])
    assert await world.published_versions() == [("confirmed", 2), ("reverted", 3)]
    assert not await is_halted(world)


async def test_later_messages_of_other_networks_do_not_delay_the_resume(
    world: World, settler: Engine
) -> None:
    await halted_by_false_node(world)
    assert not await world.watches.is_read(NETWORK)
    await mark_all_read(settler)
    # Behind the last message of this network.
    await execute(
        world.engine,
        "INSERT INTO outbox (message_id, topic, key, payload) "
        "VALUES (gen_random_uuid(), 'deposit.changed.v1', '', '')",
    )

    assert await world.watches.is_read(NETWORK)


async def test_reverts_of_another_order_that_the_settler_has_not_read_keep_the_halt(
    world: World, settler: Engine
) -> None:
    """They are published between the check of the watermark and the end of the halt."""

    def change(added: BlockAdded) -> BlockAdded:
        return adding(LATER, at=9)(adding(FALSE_DEPOSIT)(added))

    await halted_by_false_node(world, false_reader(world, change))
    await world.taking_back(two_correct_readers(world))([TRANSACTION])
    await mark_all_read(settler)
    other = world.taking_back(two_correct_readers(world))
    assert isinstance(world.watches, InterruptedWatches)
    world.watches.interrupt = lambda: other([LATER.id.transaction_hash])

    with pytest.raises(Unavailable, match="the settler has not read yet"):
        await world.resuming(two_correct_readers(world), within=SOON)(NETWORK)

    assert (await world.messages())[-1]["state"] == "reverted"
    assert await is_halted(world)
    await mark_all_read(settler)
    await world.resuming(two_correct_readers(world))(NETWORK)
    assert not await is_halted(world)


async def test_an_order_does_not_lift_a_halt_that_began_after_it(
    world: World, settler: Engine
) -> None:
    await halted_by_false_node(world)
    await world.taking_back(two_correct_readers(world))([TRANSACTION])
    await mark_all_read(settler)

    async def halts_again() -> None:
        assert isinstance(world.watches, InterruptedWatches)
        await world.resuming(two_correct_readers(world))(NETWORK)
        await world.watches.halt(Halt(NETWORK, "another contradiction", NOW + timedelta(hours=1)))

    assert isinstance(world.watches, InterruptedWatches)
    world.watches.interrupt = halts_again

    with pytest.raises(RequestRefused, match=f"the halt of {NETWORK} ended meanwhile"):
        await world.resuming(two_correct_readers(world))(NETWORK)

    assert await world.is_halted() == "another contradiction"


async def test_a_watermark_that_is_not_readable_keeps_the_halt(
    world: World, settler: Engine
) -> None:
    """Rows that a role may not read must not look like read messages."""
    await halted_by_false_node(world)
    await world.taking_back(two_correct_readers(world))([TRANSACTION])
    await mark_all_read(settler)
    before, halts = await world.published_versions(), await rows(world, HALTS)
    await execute(settler, "REVOKE SELECT ON watermark FROM outbox_reader")
    try:
        with pytest.raises(Unavailable, match=r"settler\.watermark cannot be read: grant"):
            await world.resuming(two_correct_readers(world))(NETWORK)

        assert await world.published_versions() == before
        assert await rows(world, HALTS) == halts
        assert await is_halted(world)
    finally:
        await execute(settler, "GRANT SELECT ON watermark TO outbox_reader")
    await world.resuming(two_correct_readers(world))(NETWORK)
    assert not await is_halted(world)


async def mark_all_read(settler: Engine) -> None:
    await execute(
        settler,
        "UPDATE watermark SET (xid, id) = (SELECT xid, id FROM chain_watcher.outbox "
        "ORDER BY xid DESC, id DESC LIMIT 1)",
    )


async def execute(engine: Engine, statement: str) -> None:
    async with engine.begin() as connection:
        await connection.execute(sql(statement))
