"""R6: what is final on a network changed. Until an operator resumes it, no payment
depends on it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

import psycopg
import pytest
from pydantic import SecretStr

from services.settler.tests.integration.lane_fixtures import EMPTY, opened_world
from services.settler.tests.lane_harness import (
    DESTINATION,
    NOW,
    PAYOUT,
    SOURCE,
    World,
    a_recipient,
    expect_wrong_nonces,
)
from swap_runtime.errors import RequestRefused
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.sql import Statement, sql
from swap_settler.operator.http.stops import StopAdmin
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.store.stops import PostgresStops
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.stop_payouts import StopPayouts
from swap_settler.paying.store import lane_statements, outflow_statements
from swap_settler.settling.store.dwelling import PostgresDwelling
from tests.plugins.postgres import Database
from tests.support.serving import client_of, get

pytestmark = pytest.mark.connected
HOUR = timedelta(hours=1)
OTHER = "ANOTHER_DEVNET"
HALT = sql("""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
    checked_number, halted_at, halt_reason)
VALUES (:network, 9, '0x1', '0x2', now(), 9, 0, 0, now() - CAST(:ago AS interval),
    'changed at or below block 9')
ON CONFLICT (network) DO UPDATE SET halted_at = excluded.halted_at,
    halt_reason = excluded.halt_reason
""")
RESUME = sql("""
WITH gone AS (UPDATE watch_cursor SET halted_at = NULL, halt_reason = NULL)
INSERT INTO past_halt (network, halted_at, resumed_at, reason)
SELECT network, halted_at, now(), halt_reason FROM watch_cursor WHERE halted_at IS NOT NULL
""")


class Watcher:
    """The chain-watcher's halts, on its own tables."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def halt(self, network: str, *, ago: timedelta = timedelta(0)) -> None:
        await self._execute(HALT, {"network": network, "ago": ago})

    async def resume(self) -> None:
        await self._execute(RESUME)

    async def empty(self) -> None:
        await self._execute(sql("TRUNCATE watch_cursor, past_halt"))

    async def _execute(self, statement: Any, values: Mapping[str, object] | None = None) -> None:
        async with self.engine.begin() as connection:
            await connection.execute(statement, values or {})


@pytest.fixture
async def halts(migrate_schema: Callable[[str], str]) -> AsyncIterator[Watcher]:
    engine = create_engine(SecretStr(migrate_schema("chain_watcher")), application_name="test")
    watcher = Watcher(engine)
    await watcher.empty()
    yield watcher
    await watcher.empty()
    await engine.dispose()


@pytest.fixture
async def world(migrate_schema: Callable[[str], str], halts: Watcher) -> AsyncIterator[World]:
    """Return the world of the lane that pays out."""
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        yield world


@pytest.fixture
async def refunding(migrate_schema: Callable[[str], str], world: World) -> AsyncIterator[World]:
    """Return the world of the lane that refunds, with the same database."""
    async with opened_world(migrate_schema("settler"), SOURCE, beside_another=True) as source_world:
        yield source_world


async def change(world: World, statement: str) -> None:
    async with world.engine.begin() as connection:
        await connection.execute(sql(statement))


async def no_slot(world: World) -> bool:
    return await world.rows("SELECT 1 FROM nonce_slot") == []


@pytest.mark.parametrize("where", [SOURCE, DESTINATION])
@pytest.mark.fault("R6")
async def test_r6_payments_on_and_for_deposits_of_a_halted_network_wait(
    world: World, halts: Watcher, where: str
) -> None:
    await world.confirmed_swaps(2)
    await halts.halt(where)

    await world.send_everything()
    assert await no_slot(world)

    await halts.resume()
    await world.send_everything()
    world.chain.mine()
    assert [world.paid_amount(number) for number in (1, 2)] == [PAYOUT] * 2


@pytest.mark.fault("R6")
async def test_r6_halt_of_another_network_does_not_delay_payments(
    world: World, halts: Watcher
) -> None:
    await world.confirmed_swaps(1)
    await halts.halt(OTHER)

    await world.send_everything()
    world.chain.mine()

    assert world.paid_amount(1) == PAYOUT


@pytest.mark.parametrize("where", [SOURCE, DESTINATION])
@pytest.mark.fault("R6")
async def test_r6_a_lane_that_looked_before_hands_out_no_nonce_after_it(
    world: World, halts: Watcher, where: str
) -> None:
    await world.confirmed_swaps(1)
    waiting = (await world.store.due(limit=1)).payments
    await halts.halt(where)

    assert not await world.store.assign([tuple(waiting)], epoch=world.epoch)

    assert await no_slot(world)


@pytest.mark.parametrize("storing", ["assign", "store_attempts"])  # with the nonce, or after it
@pytest.mark.fault("R6")
async def test_r6_halt_discards_payments_that_are_being_signed(
    world: World, halts: Watcher, storing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.confirmed_swaps(1)
    send, store = world.new_process(), getattr(world.store, storing)
    if storing == "store_attempts":
        expect_wrong_nonces(monkeypatch)

    async def halted_meanwhile(*arguments: Any, **more: Any) -> Any:
        await halts.halt(DESTINATION)
        return await store(*arguments, **more)

    monkeypatch.setattr(world.store, storing, halted_meanwhile)
    assert await send(epoch=world.epoch) == 0

    assert await world.rows("SELECT 1 FROM attempt") == []
    assert world.chain.pool == {}


@pytest.mark.fault("R6")
async def test_r6_payment_with_a_nonce_on_another_network_is_sent(
    world: World, halts: Watcher
) -> None:
    await world.confirmed_swaps(1)
    waiting = (await world.store.due(limit=1)).payments
    await world.store.assign([tuple(waiting)], epoch=world.epoch)
    await halts.halt(SOURCE)

    await world.send_everything()
    world.chain.mine()

    assert world.paid_amount(1) == PAYOUT


@pytest.mark.fault("R6")
async def test_r6_refund_after_an_abandoned_payment_there_waits(
    world: World, refunding: World, halts: Watcher
) -> None:
    await world.confirmed_swaps(1)
    await world.refund_address(1, a_recipient(9))
    await dead(world)
    await refunding.starting_refunds()()
    assert len((await refunding.store.due(limit=10)).payments) == 1

    await halts.halt(DESTINATION)
    await refunding.send_everything()
    assert refunding.paid_amount(9) == 0
    assert (await refunding.store.due(limit=10)).payments == []

    await halts.resume()
    await refunding.send_everything()
    refunding.chain.mine()
    assert refunding.paid_amount(9) > 0


async def dead(world: World) -> None:
    """Try the payout in a slot until it is abandoned."""
    for _ in range(2):
        world.chain.refuse(a_recipient(1), refuses=False)
        await world.send_everything()
        world.chain.refuse(a_recipient(1))
        world.chain.mine(3)
        await world.close_slots()
    assert await world.intent_states() == ["dead"]


@pytest.mark.fault("R6")
async def test_r6_takes_no_death_of_a_payment_from_a_chain_that_is_in_doubt(
    world: World, halts: Watcher
) -> None:
    """It may be paid on the correct chain, so a refund waits until the halt ends."""
    await world.confirmed_swaps(1)
    await world.refund_address(1, a_recipient(9))
    await world.send_everything()
    world.chain.refuse(a_recipient(1))
    world.chain.mine(3)
    await halts.halt(DESTINATION)
    closing = world.closing()

    await closing(epoch=world.epoch)
    assert await world.intent_states() == ["broadcast"]
    await world.store.halt("a person must look")
    with pytest.raises(RequestRefused, match="in doubt"):
        await world.resuming()(DESTINATION, used_by=["0x1"], by="ann", reason="by hand")

    await halts.resume()
    await closing(epoch=world.epoch)
    assert await world.intent_states() == ["reserved"]


@pytest.mark.fault("R6")
async def test_r6_refund_without_a_payment_attempt_there_is_sent(
    refunding: World, halts: Watcher
) -> None:
    await refunding.due_refunds(1)
    await refunding.starting_refunds()()
    await halts.halt(DESTINATION)

    await refunding.send_everything()
    refunding.chain.mine()

    assert refunding.paid_amount(1) > 0


@pytest.mark.parametrize("where", [SOURCE, DESTINATION])
@pytest.mark.fault("R6")
async def test_r6_what_waits_meanwhile_grows_no_older(
    world: World, halts: Watcher, where: str
) -> None:
    dwelling = PostgresDwelling(world.engine, networks=[SOURCE, DESTINATION])
    await world.confirmed_swaps(1)
    await change(world, "UPDATE intent SET created_at = now() - interval '3 hours'")
    assert len(await dwelling.find_unsent(HOUR, limit=10)) == 1

    await halts.halt(where, ago=2.5 * HOUR)
    assert await dwelling.find_unsent(HOUR, limit=10) == {}

    await halts.resume()
    assert await dwelling.find_unsent(HOUR, limit=10) == {}

    await change(world, "UPDATE intent SET created_at = now() - interval '4 hours'")
    assert len(await dwelling.find_unsent(HOUR, limit=10)) == 1


@pytest.mark.fault("R6")
async def test_r6_what_is_to_go_back_and_cannot_be_worked_out_grows_no_older(
    refunding: World, halts: Watcher
) -> None:
    await refunding.due_refunds(1)
    refunding.chain.is_reachable = False
    status = "SELECT status FROM swap"
    await change(refunding, "UPDATE refund_due SET since = now() - interval '3 hours'")

    await halts.halt(SOURCE, ago=2.5 * HOUR)
    await refunding.starting_refunds()()
    assert await refunding.rows(status) == [("pending_refund",)]

    await halts.resume()
    await refunding.starting_refunds()()
    assert await refunding.rows(status) == [("pending_refund",)]

    await change(refunding, "UPDATE refund_due SET since = now() - interval '6 hours'")
    await refunding.starting_refunds()()
    assert await refunding.rows(status) == [("failed",)]


@pytest.mark.fault("R6")
async def test_r6_the_clock_of_what_is_signed_stands_still(world: World, halts: Watcher) -> None:
    await world.confirmed_swaps(1)
    await world.send_everything()
    await change(world, "UPDATE nonce_slot SET assigned_at = now() - interval '3 hours'")
    await halts.halt(DESTINATION, ago=2.5 * HOUR)

    [slot] = await world.store.open_slots(lowest=0)
    assert slot.assigned_for < HOUR

    await halts.resume()
    [slot] = await world.store.open_slots(lowest=0)
    assert slot.assigned_for < HOUR


@pytest.mark.fault("R6")
async def test_r6_an_operator_sees_it_and_what_lifts_it(world: World, halts: Watcher) -> None:
    await halts.halt(SOURCE)
    stop_payouts = StopPayouts(PostgresStops(world.engine), networks=[SOURCE, DESTINATION])
    losses = GuardLosses(PostgresLosses(world.engine), budgets={}, span=HOUR)
    admin = StopAdmin(stop_payouts, guard_losses=losses)

    async with client_of(get("/", admin.list_all)) as http:
        [listed] = (await (await http.get("/")).json())["stops"]

    assert (listed["network"], listed["by"]) == (SOURCE, "the chain-watcher")
    assert listed["reason"] == "changed at or below block 9"
    assert "swapctl network resume NETWORK" in listed["means"]


MANY = """
SET session_replication_role = replica;
SET search_path = settler;
CREATE TEMPORARY TABLE one_swap AS SELECT * FROM swap;
CREATE TEMPORARY TABLE one_intent AS SELECT * FROM intent;
UPDATE one_swap SET match_key = NULL;
"""
COPY = """
INSERT INTO {table} SELECT new.* FROM one_{table} AS one, generate_series(1, 20000) AS n,
    jsonb_populate_record(NULL::{table}, to_jsonb(one) || {other}) AS new
"""


WHOLE_HISTORY: Final = re.compile(r"Seq Scan on (swap|intent)\b")


@pytest.fixture
def many(world: World, database: Database) -> Iterator[Callable[[], None]]:
    """Yield a function that adds thousands of swaps, two hundred of them with a waiting payment."""

    def add() -> None:
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(MANY)
            its_id = "'id', md5('swap' || n)::uuid, 'sequence_number', 10 + n, 'match_key', n"
            connection.execute(COPY.format(table="swap", other=f"jsonb_build_object({its_id})"))
            its_id = "'id', md5('it' || n)::uuid, 'swap_id', md5('swap' || n)::uuid, 'paid_id', n"
            its_state = "'state', CASE n % 100 WHEN 0 THEN 'reserved' ELSE 'dead' END"
            its_own = f"jsonb_build_object({its_id}, {its_state})"
            connection.execute(COPY.format(table="intent", other=its_own))
            connection.execute("ANALYZE swap, intent")

    yield add
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(f"SET search_path = settler; {EMPTY.text}; ANALYZE swap, intent")


@pytest.mark.parametrize(
    "statement",
    [
        lane_statements.WAITING,
        lane_statements.LOCK_INTENTS,
        outflow_statements.HEADS,
        outflow_statements.USED,
    ],
    ids=["waiting", "locking", "heads", "used"],
)
@pytest.mark.fault("R6")
async def test_r6_what_is_halted_is_found_by_an_index(
    world: World, halts: Watcher, many: Callable[[], None], statement: Statement
) -> None:
    await world.confirmed_swaps(1)
    many()
    values = {"network": DESTINATION, "limit": 1, "permit": b"\0\0\0\0", "ids": [], "at": NOW}
    explained = Statement(f"EXPLAIN {statement.text}", statement.names)
    async with world.engine.connect() as connection:
        plan = await connection.scalars(explained, {name: values[name] for name in statement.names})

    assert [line for line in plan if WHOLE_HISTORY.search(line)] == []
    # A payment's own swap and attempts only, never those of all payments.
    of_one = [n for n, line in enumerate(plan) if " on swap came" in line or " tried" in line]
    asked_for = [plan[n + 1] for n in of_one if "Index Scan" in plan[n]]
    assert asked_for
    assert [line for line in asked_for if "Index Cond" not in line] == []
