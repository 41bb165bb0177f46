"""One batch of facts, one commit, on a real Postgres."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from watch_factories import (
    DEPOSIT_ADDRESS,
    NETWORK,
    UNKNOWN_ADDRESS,
    a_block,
    a_deposit,
    a_native_receipt,
    a_payout,
    a_policy,
    a_transfer,
)

from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork, lease_name
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.deposit_addresses import Target
from swap_chain_watcher.domain.second_look import decide_missed
from swap_chain_watcher.domain.watch import CursorMoved, Halt, NetworkHalted, Watch
from swap_chain_watcher.usecases.advance_watch import AdvanceWatch
from swap_chains import events
from swap_chains.events import Block, BlockAdded, BlocksFinalized, BlocksReverted, ChainEvent
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.leases import Lease, LeaseLost
from swap_runtime.postgres.sql import Row, sql
from tests.support.locks import until_blocked

pytestmark = pytest.mark.connected

NOW = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
CRASH = Path(__file__).parent / "advance_once.py"
UINT256_MAX = 2**256 - 1


class Database:
    """The use case on Postgres, and its stored result."""

    def __init__(self, engine: Engine, epoch: int, **policy: object) -> None:
        self.engine = engine
        self.epoch = epoch
        self.work = PostgresUnitOfWork(engine, consumer="chain_watcher")
        self.watches = PostgresWatches(engine)
        self.advance = AdvanceWatch(self.work, policy=a_policy(**policy), clock=lambda: NOW)

    async def started(self) -> Watch:
        await self.watches.start(NETWORK, a_block(0))
        return await self.stored()

    async def stored(self) -> Watch:
        watch = await self.watches.load(NETWORK)
        assert watch is not None
        return watch

    async def receives(self, *chain_events: ChainEvent) -> Watch:
        """Advance from the stored state; a new process would continue with the same."""
        watch = await self.advance(await self.stored(), chain_events, epoch=self.epoch)
        assert watch == await self.stored()
        return watch

    async def mines(self, *movements: events.Movement, branch: str = "") -> Block:
        head = (await self.stored()).cursor
        block = a_block(head.number + 1, branch=branch, parent=head)
        await self.receives(BlockAdded(block, movements))
        return block

    async def reverts_to(self, ancestor: Block) -> None:
        recent = (await self.stored()).recent
        gone = tuple(block for block in recent if block.number > ancestor.number)
        await self.receives(BlocksReverted(ancestor, gone))

    async def rows(self, statement: str) -> Sequence[Row]:
        async with self.engine.connect() as connection:
            return await connection.execute(sql(statement))

    async def messages(self) -> list[dict[str, Any]]:
        rows = await self.rows("SELECT payload FROM outbox ORDER BY id")
        return [json.loads(row.payload)["body"] for row in rows]

    async def published_versions(self) -> list[tuple[str, int]]:
        return [(body["state"], body["version"]) for body in await self.messages()]

    async def count(self, table: str) -> int:
        return int((await self.rows(f"SELECT count(*) FROM {table}"))[0][0])


@pytest.fixture
async def database_(engine: Engine, epoch: int) -> Database:
    database = Database(engine, epoch)
    await database.started()
    return database


class TestOneCommit:
    async def test_keeps_blocks_movements_messages_and_cursor(self, database_: Database) -> None:
        deposit = a_deposit("one")

        await database_.mines(a_transfer("receipt", claimed_by=deposit.id), deposit)

        assert await database_.count("chain_block") == 2
        assert await database_.count("movement") == 2
        assert await database_.published_versions() == [("seen", 1)]
        progress = (await database_.rows("SELECT * FROM progress"))[0]
        last = (await database_.rows("SELECT max(id) FROM outbox"))[0][0]
        assert (progress.network, progress.block_number, progress.final_number) == (NETWORK, 1, 0)
        assert (progress.block_time, progress.last_outbox_id) == (a_block(1).time, last)

    async def test_without_messages_leaves_the_last_message_as_it_was(
        self, database_: Database
    ) -> None:
        await database_.mines(a_deposit("one"))
        before = (await database_.rows("SELECT last_outbox_id FROM progress"))[0][0]

        await database_.reverts_to(a_block(1))
        await database_.receives(BlocksFinalized(a_block(1)))

        assert before > 0
        assert (await database_.rows("SELECT last_outbox_id FROM progress"))[0][0] == before

    async def test_keeps_the_largest_amount_to_the_last_unit(self, database_: Database) -> None:
        await database_.mines(a_deposit("huge", UINT256_MAX), a_payout("paid", UINT256_MAX))

        rows = await database_.rows("SELECT base_units, paid_id FROM movement ORDER BY kind")
        assert int(rows[0].base_units) == int(rows[1].paid_id) == UINT256_MAX
        bodies = await database_.messages()
        assert bodies[0]["base_units"] == bodies[1]["intent_id"] == str(UINT256_MAX)

    @pytest.mark.fault("W8")
    async def test_w8_is_all_or_nothing_after_a_crash(
        self, database_: Database, database_url: str
    ) -> None:
        def advance_once(**environment: str) -> int:
            return subprocess.run(
                [sys.executable, str(CRASH), database_url],
                env={**os.environ, **environment},
                check=False,
            ).returncode

        code = await asyncio.to_thread(advance_once, CRASH_AT="chain_watcher.before_commit:1")
        assert code == 137
        assert await database_.count("movement") == await database_.count("outbox") == 0
        assert (await database_.stored()).cursor == a_block(0)

        assert await asyncio.to_thread(advance_once) == 0
        assert await database_.published_versions() == [("seen", 1)]
        assert (await database_.stored()).cursor == a_block(1)

    async def test_costs_as_many_statements_for_two_hundred_movements_as_for_two(
        self, database_: Database, round_trips: list[int]
    ) -> None:
        counted = []
        for number, size in ((1, 2), (2, 200)):
            movements = [a_deposit(f"{size}/{n}") for n in range(size - 1)]
            watch = await database_.stored()
            round_trips.clear()
            with statements_of(database_.engine) as seen:
                await database_.advance(
                    watch,
                    [
                        BlockAdded(a_block(number), (*movements, a_payout(f"{size}", size))),
                        BlocksFinalized(a_block(number)),
                    ],
                    epoch=database_.epoch,
                )
            counted.append(seen)
            assert len(round_trips) == 2

        two, two_hundred = counted
        assert [len(two["statements"]), two["commits"]] == [
            len(two_hundred["statements"]) - 1,  # the rest of the first batch is confirmed as well
            two_hundred["commits"],
        ]
        assert len(two_hundred["statements"]) <= 10
        assert two_hundred["commits"] == 1

    async def test_waits_twice_whatever_it_has_to_recall(
        self, database_: Database, round_trips: list[int]
    ) -> None:
        watch, counted = await database_.stored(), []
        for number, movements in (
            (1, ()),
            (2, (a_payout("paid"),)),
            (3, (a_deposit("one"), a_payout("again", 7), a_transfer("two"))),
        ):
            round_trips.clear()
            with statements_of(database_.engine) as seen:
                watch = await database_.advance(
                    watch, [BlockAdded(a_block(number), movements)], epoch=database_.epoch
                )
            counted.append((round_trips[0], len(round_trips), seen["commits"]))

        # BEGIN, the epoch and the cursor; the published movements, and the deposit addresses.
        assert counted == [(3, 2, 1), (4, 2, 1), (5, 2, 1)]


class TestOneFollower:
    @pytest.mark.fault("W9")
    async def test_w9_ignores_a_batch_it_has(self, database_: Database) -> None:
        event_ = BlockAdded(a_block(1), (a_deposit("one"),))

        await database_.receives(event_)
        await database_.receives(event_)

        assert await database_.published_versions() == [("seen", 1)]

    async def test_refuses_a_watch_that_another_process_moved(self, database_: Database) -> None:
        stale = await database_.stored()
        chain_events = [BlockAdded(a_block(1), (a_deposit("one"),))]
        await database_.advance(stale, chain_events, epoch=database_.epoch)

        with pytest.raises(CursorMoved):
            await database_.advance(stale, chain_events, epoch=database_.epoch)

        assert await database_.published_versions() == [("seen", 1)]

    async def test_refuses_one_that_was_paused_past_its_lease(self, database_: Database) -> None:
        watch = await database_.stored()
        name = lease_name(NETWORK)
        await Lease(database_.engine, name, holder="test").release()
        await Lease(database_.engine, name, holder="another").acquire()

        with pytest.raises(LeaseLost):
            await database_.advance(
                watch, [BlockAdded(a_block(1), (a_deposit("one"),))], epoch=database_.epoch
            )

        assert (await database_.stored()).cursor == a_block(0)

    async def test_refuses_a_stale_or_halted_watch_first(self, database_: Database) -> None:
        stale = await database_.stored()
        first = [BlockAdded(a_block(1), (a_deposit("one"),))]
        moved = await database_.advance(stale, first, epoch=database_.epoch)
        await database_.watches.halt(Halt(NETWORK, "a node lied", NOW))

        with pytest.raises(LeaseLost):
            await database_.advance(stale, first, epoch=database_.epoch + 1)
        with pytest.raises(CursorMoved):
            await database_.advance(stale, first, epoch=database_.epoch)
        with pytest.raises(NetworkHalted):
            await database_.advance(moved, [BlockAdded(a_block(2), ())], epoch=database_.epoch)

        assert await database_.published_versions() == [("seen", 1)]

    async def test_uses_rows_that_were_written_before_its_lock(self, database_: Database) -> None:
        hidden = [BlockAdded(a_block(0), (a_payout("hidden"),))]
        sweep = a_transfer("sweep", from_address=DEPOSIT_ADDRESS)
        chain_events = [BlockAdded(a_block(1), (a_payout("same intent"), sweep))]
        watch = await database_.stored()

        async with asyncio.TaskGroup() as tasks, database_.work() as second_look:
            stored = await second_look.load_stored(NETWORK, hidden, [], first=0, last=0)
            tasks.create_task(database_.advance(watch, chain_events, epoch=database_.epoch))
            await until_blocked(database_.engine)
            missed = decide_missed(NETWORK, hidden, stored=stored, policy=a_policy(), known={})
            await second_look.add_missed(NETWORK, missed, at=NOW, checked_number=0)
            await second_look.add_targets([Target(NETWORK, DEPOSIT_ADDRESS, NOW)])

        assert await database_.published_versions() == [("seen", 1), ("confirmed", 2), ("seen", 3)]
        rows = await database_.rows("SELECT internal FROM movement WHERE kind = 'token_transfer'")
        assert [row.internal for row in rows] == [True]


class TestReorgs:
    async def test_orphan_blocks_and_revert_movements(self, database_: Database) -> None:
        await database_.mines(a_deposit("one"))
        await database_.mines()
        await database_.reverts_to(a_block(0))

        assert await database_.published_versions() == [
            ("seen", 1),
            ("confirmed", 2),
            ("reverted", 3),
        ]
        rows = await database_.rows("SELECT number, state FROM chain_block ORDER BY number")
        assert [tuple(row) for row in rows] == [(0, "canonical"), (1, "orphan"), (2, "orphan")]

    async def test_keep_the_versions_of_what_is_mined_again(self, database_: Database) -> None:
        await database_.mines(a_deposit("one"))
        await database_.reverts_to(a_block(0))
        await database_.mines(branch="b")
        block = await database_.mines(a_deposit("one"), branch="b")

        bodies = await database_.messages()
        assert [(b["state"], b["version"]) for b in bodies] == [
            ("seen", 1),
            ("reverted", 2),
            ("seen", 3),
        ]
        assert len({body["deposit_id"] for body in bodies}) == 1
        assert bodies[-1]["block_hash"] == block.hash

    async def test_keep_the_versions_of_a_payout_in_another_transaction(
        self, database_: Database
    ) -> None:
        await database_.mines(a_payout("first attempt"))
        await database_.reverts_to(a_block(0))
        await database_.mines(a_payout("second attempt"), branch="b")
        await database_.mines(branch="b")

        bodies = await database_.messages()
        assert [(b["state"], b["version"]) for b in bodies] == [
            ("seen", 1),
            ("reverted", 2),
            ("seen", 3),
            ("confirmed", 4),
        ]
        assert {body["intent_id"] for body in bodies} == {"99"}
        assert len({body["transaction_hash"] for body in bodies}) == 2

    async def test_may_bring_an_orphan_back(self, database_: Database) -> None:
        first, other = a_block(1), a_block(1, branch="b", parent=a_block(0))
        deposit = a_deposit("one")

        await database_.receives(BlockAdded(first, (deposit,)))
        await database_.receives(BlocksReverted(a_block(0), (first,)), BlockAdded(other, ()))
        await database_.receives(
            BlocksReverted(a_block(0), (other,)), BlockAdded(first, (deposit,))
        )

        assert await database_.published_versions() == [("seen", 1), ("reverted", 2), ("seen", 3)]
        assert (await database_.stored()).recent == (a_block(0), first)
        assert await database_.count("movement") == 1

    async def test_within_one_batch_leave_the_same_as_one_by_one(self, database_: Database) -> None:
        lost, found = a_block(1), a_block(1, branch="b", parent=a_block(0))

        await database_.receives(
            BlockAdded(lost, (a_deposit("one"),)),
            BlocksReverted(a_block(0), (lost,)),
            BlockAdded(found, (a_deposit("one"),)),
        )

        assert await database_.published_versions() == [("seen", 1), ("reverted", 2), ("seen", 3)]
        rows = await database_.rows("SELECT block_hash, state FROM movement ORDER BY version")
        assert [tuple(row) for row in rows] == [(lost.hash, "reverted"), (found.hash, "seen")]

    async def test_never_touch_what_is_final(self, database_: Database) -> None:
        for _ in range(3):
            await database_.mines()
        await database_.receives(BlocksFinalized(a_block(2)))

        rows = await database_.rows(
            "SELECT number FROM chain_block WHERE finalized ORDER BY number"
        )
        assert [row.number for row in rows] == [0, 1, 2]
        assert [b.number for b in (await database_.stored()).recent] == [2, 3]


class TestMovements:
    async def test_of_one_deposit_are_published_once_by_either_log(
        self, database_: Database
    ) -> None:
        deposit = a_deposit("coins", token="0x" + "0" * 40)

        await database_.mines(a_native_receipt("receipt", claimed_by=deposit.id), deposit)

        bodies = await database_.messages()
        assert [body["kind"] for body in bodies] == ["deposited"]
        rows = await database_.rows("SELECT id, claimed_by, state FROM movement ORDER BY kind")
        assert rows[1].claimed_by == rows[0].id
        assert (rows[0].state, rows[1].state) == ("seen", None)

    async def test_from_a_deposit_address_are_sweeps(self, database_: Database) -> None:
        async with database_.work() as work:
            await work.add_targets([Target(NETWORK, DEPOSIT_ADDRESS, NOW)])

        await database_.mines(
            a_transfer("sweep", from_address=DEPOSIT_ADDRESS), a_transfer("user's")
        )

        rows = await database_.rows("SELECT internal FROM movement ORDER BY internal")
        assert [row.internal for row in rows] == [False, True]
        assert len(await database_.messages()) == 1

    async def test_that_cannot_be_credited_have_the_reason(self, database_: Database) -> None:
        await database_.mines(a_deposit("strange", receiver=UNKNOWN_ADDRESS))

        (body,) = await database_.messages()
        assert (body["quarantine_reason"], body["sequence_number"]) == ("foreign_receiver", 7)


@contextmanager
def statements_of(engine: Engine) -> Iterator[dict[str, Any]]:
    seen: dict[str, Any] = {"statements": [], "commits": 0}

    def record_statement(statement: str) -> None:
        if statement == "COMMIT":
            seen["commits"] += 1
        else:
            seen["statements"].append(statement)

    engine.statement_listener = record_statement
    try:
        yield seen
    finally:
        engine.statement_listener = None
