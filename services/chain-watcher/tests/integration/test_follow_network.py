"""Following a chain that mines, reorganises, fails and restarts from nothing, on Postgres."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from watch_factories import (
    DEPOSITORY,
    NETWORK,
    TREASURY,
    USER,
)
from watch_world import NOW, World

from swap_chain_watcher import observe
from swap_chain_watcher.domain.watch import Halt
from swap_chain_watcher.usecases.record_targets import RecordTargets
from swap_chain_watcher.usecases.report_networks import ReportNetworks
from swap_chains.errors import BlockUnknown, ChainMismatch, FinalBlocksDiffer
from swap_chains.events import Block
from swap_chains.fake import FakeChain, FakeReader
from swap_contracts.deposits import DepositTargetAssigned
from swap_contracts.topics import DEPOSIT_TARGET_ASSIGNED
from swap_runtime.errors import RequestRefused, Unavailable
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import REGISTRY

pytestmark = pytest.mark.connected
SLOW_SECONDS = 0.2


class ResynchronisingReader(FakeReader):
    """An emptied node: its head is its first block until it has synchronised."""

    blocks_shown: int | None = 1
    head_shown = 0

    async def head(self, *, at_least: int = 0) -> Block:
        if self.blocks_shown is None:
            return await super().head()
        return self._chain.blocks[self.head_shown]

    async def block_at(self, number: int) -> Block:
        if self.blocks_shown is not None and number >= self.blocks_shown:
            raise BlockUnknown(NETWORK, number)
        return await super().block_at(number)


class FinalBlocksOfTwo(FakeReader):
    """Nodes of two providers with different final blocks from the start."""

    async def follow_batches(self, **place: Any) -> Any:
        async for batch in super().follow_batches(**place):
            yield batch
            raise FinalBlocksDiffer(NETWORK, 1, ("one.example", "two.example"))


def contradictions() -> float:
    """Return the counter of the alert NodesContradict."""
    counted = REGISTRY.get_sample_value("swap_watch_contradictions_total", {"network": NETWORK})
    return counted or 0


class TestFollowNetwork:
    @pytest.mark.fault("W27")
    async def test_halts_when_two_providers_call_different_blocks_final(self, world: World) -> None:
        before = contradictions()
        async with world.follow(FinalBlocksOfTwo(world.chain)):
            world.chain.mine(9)

            reason = await world.is_halted()

        assert "one.example and two.example differ on final block 1" in reason
        assert contradictions() == before + 1

    async def test_sees_a_deposit_and_confirms_it(self, world: World) -> None:
        async with world.follow():
            await world.deposits(7)
            world.chain.mine()
            await world.publishes(("seen", 1))
            world.chain.mine()
            await world.publishes(("seen", 1), ("confirmed", 2))

        body = (await world.messages())[0]
        assert (body["kind"], body["sequence_number"]) == ("deposited", 7)
        assert (body["from_address"], body["to_address"]) == (USER, TREASURY)

    async def test_continues_where_it_stopped(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(3)
            await world.is_at_head()
        await world.deposits(7)
        world.chain.mine(20)

        async with world.follow():
            await world.publishes(("confirmed", 2))  # never reported as seen before it was final
            await world.is_at_head()

    @pytest.mark.fault("W4")
    async def test_w4_finds_a_reorg_of_the_same_height_by_the_hash(self, world: World) -> None:
        async with world.follow():
            await world.deposits(7)
            world.chain.mine()
            await world.publishes(("seen", 1))
            world.chain.reorg(1)
            await world.publishes(("seen", 1), ("reverted", 2))
            await world.is_at_head()

    @pytest.mark.fault("W6")
    async def test_w6_finds_a_reorg_that_happened_while_it_was_down(self, world: World) -> None:
        async with world.follow():
            deposit = await world.deposits(7)
            world.chain.mine()
            await world.publishes(("seen", 1))
            world.chain.mine(2)
            await world.publishes(("seen", 1), ("confirmed", 2))
            await world.is_at_head()
        world.chain.reorg(3, [(deposit, 2)])

        async with world.follow():
            await world.publishes(("seen", 1), ("confirmed", 2), ("reverted", 3), ("seen", 4))
            world.chain.mine()
            await world.is_at_head()

        bodies = await world.messages()
        assert [body["block_number"] for body in bodies] == [1, 1, 1, 3, 3]
        assert len({body["deposit_id"] for body in bodies}) == 1

    async def test_keeps_the_stored_chain_linked_over_many_reorgs(self, world: World) -> None:
        random = Random(7)
        async with world.follow():
            for sequence_number in range(1, 40):
                await world.deposits(sequence_number)
                world.chain.mine(random.randint(1, 3))
                if random.random() < 0.4:
                    world.chain.reorg(random.randint(1, min(4, len(world.chain.blocks) - 1)))
                if random.random() < 0.5:
                    await world.is_at_head()
            world.chain.mine(8)
            await world.is_at_head()

        async with world.engine.connect() as connection:
            broken = await connection.scalar(
                sql(
                    "SELECT count(*) FROM chain_block b JOIN watch_cursor c USING (network)"
                    " LEFT JOIN chain_block p ON p.network = b.network AND p.state = 'canonical'"
                    " AND p.number = b.number - 1 WHERE b.state = 'canonical'"
                    " AND b.number > c.start_number AND p.hash IS DISTINCT FROM b.parent_hash"
                )
            )
            revisions = await connection.execute(
                sql(
                    "SELECT key, count(*) AS messages, count(DISTINCT message_id) AS ids"
                    " FROM outbox GROUP BY key"
                )
            )
            last = await connection.execute(
                sql(
                    "SELECT DISTINCT ON (id) state, block_number FROM movement"
                    " WHERE state IS NOT NULL ORDER BY id, version DESC"
                )
            )
        assert broken == 0
        assert all(row.messages == row.ids for row in revisions)
        assert {row.state for row in last} <= {"confirmed", "reverted"}

    @pytest.mark.fault("W26")
    async def test_waits_for_nodes_that_are_away(self, world: World) -> None:
        world.chain.is_reachable = False
        async with world.follow():
            await world.is_interrupted()
            assert await world.watches.load(NETWORK) is None
            world.chain.is_reachable = True
            world.chain.mine()
            await world.is_at_head()

    @pytest.mark.fault("R6")
    async def test_r6_halts_when_what_is_final_changes(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(10)
            await world.is_at_head()
            world.chain.reorg(9)
            assert "changed at or below block" in await world.is_halted()
            assert (await world.watches.list_positions())[0].cursor.number == 10

        assert observe.HALTED.labels(NETWORK)._value.get() == 1

    async def test_halts_when_the_chain_was_recreated(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(10)
            await world.is_at_head()
        world.chain = world.another_chain(blocks=3)

        async with world.follow():
            assert "was started anew" in await world.is_halted()

    async def test_detects_while_it_runs_that_the_chain_was_recreated(self, world: World) -> None:
        reader = FakeReader(world.chain)
        async with world.follow(reader):
            world.chain.mine(10)
            await world.is_at_head()
            reader._chain = world.another_chain(blocks=1)
            assert "was started anew" in await world.is_halted()

    async def test_waits_for_nodes_that_lag(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(10)
            await world.is_at_head()
        lagging = world.a_chain()
        lagging.mine(2)
        assert lagging.blocks == world.chain.blocks[:3]

        async with world.follow(FakeReader(lagging)):
            await world.is_interrupted()
            assert await world.watches.find_halt(NETWORK) is None
            lagging.mine(9)
            world.chain = lagging
            await world.is_at_head()

    async def test_waits_for_nodes_that_reload_the_chain(self, world: World) -> None:
        world.chain.mine(10)
        await world.watches.start(NETWORK, world.chain.blocks[5])  # nothing is stored before it
        loading = ResynchronisingReader(world.chain)

        async with world.follow(loading):
            await world.is_interrupted()
            assert await world.watches.find_halt(NETWORK) is None
            loading.blocks_shown = None
            await world.is_at_head()

    async def test_waits_for_nodes_that_hide_a_block_of_their_past(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(10)
            await world.is_at_head()
        world.chain.mine(1)
        loading = ResynchronisingReader(world.chain)
        loading.blocks_shown, loading.head_shown = 0, 3

        async with world.follow(loading):
            await world.is_interrupted()
            assert await world.watches.find_halt(NETWORK) is None

    async def test_resumes_by_an_operators_order(self, world: World) -> None:
        wrong = world.another_chain(blocks=10)
        async with world.follow():
            world.chain.mine(10)
            await world.is_at_head()
        async with world.follow(FakeReader(wrong)):
            await world.is_halted()

        with pytest.raises(RequestRefused, match="would halt again"):
            await world.resuming(FakeReader(wrong))(NETWORK)
        assert await world.watches.find_halt(NETWORK) is not None
        resume_network = world.resuming()
        async with world.follow():
            await resume_network(NETWORK)
            world.chain.mine()
            await world.is_at_head()

        with pytest.raises(RequestRefused):
            await resume_network(NETWORK)

    @pytest.mark.fault("R6")
    async def test_r6_does_not_resume_while_no_node_answers(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(10)
            await world.is_at_head()
        await world.watches.halt(Halt(NETWORK, "a node lied", NOW))
        world.chain.is_reachable = False

        with pytest.raises(Unavailable):
            await world.resuming()(NETWORK)

        assert await world.watches.find_halt(NETWORK) is not None

    async def test_follows_only_what_the_catalogue_names(self, world: World) -> None:
        async def mismatch() -> None:
            raise ChainMismatch(NETWORK, ["no contract at the Treasury"])

        world.check_chain = mismatch
        async with world.follow():
            await world.is_interrupted()
            assert await world.watches.load(NETWORK) is None

    async def test_goes_no_further_when_a_second_look_halts_it(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        noticed = asyncio.Event()
        monkeypatch.setattr(observe, "network_still_halted", lambda network: noticed.set())
        async with world.follow():
            world.chain.mine()
            await world.is_at_head()
            last = world.chain.blocks[-1]
            await world.watches.halt(Halt(NETWORK, "a node lies", NOW))

            await world.deposits(7)
            world.chain.mine()
            await asyncio.wait_for(noticed.wait(), 10)

            watch = await world.watches.load(NETWORK)
            assert watch is not None
            assert (watch.cursor, await world.published_versions()) == (last, [])
            await world.resuming()(NETWORK)
            await world.is_at_head()


class TestTargets:
    async def test_are_stored_once(self, world: World, engine: Engine) -> None:
        envelopes = [
            DEPOSIT_TARGET_ASSIGNED.seal(
                DepositTargetAssigned(network=NETWORK, address=USER, since=NOW),
                version=version,
                occurred_at=NOW,
                trace_id="t",
            )
            for version in ("first", "again")
        ]

        await RecordTargets(world.work)(envelopes)

        async with engine.connect() as connection:
            rows = await connection.execute(sql("SELECT * FROM deposit_target"))
        assert [(row.network, row.address, row.since) for row in rows] == [(NETWORK, USER, NOW)]


class TestReportNetworks:
    async def test_reports_the_position_of_each_network(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(8)
            await world.is_at_head()
        world.chain.mine(2)
        report_networks = ReportNetworks(
            world.watches, [FakeReader(world.chain)], head_timeout=timedelta(seconds=1)
        )

        (report,) = await report_networks()

        assert report.place is not None
        assert (report.head, report.place.cursor.number, report.lag_blocks) == (10, 8, 2)
        assert report.place.finalized_number == 2

    async def test_reports_no_lag_behind_a_head_below_the_final_block(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(8)
            await world.is_at_head()
        anew = FakeChain(NETWORK, depository=DEPOSITORY, treasury=TREASURY, decimals={})

        (report,) = await ReportNetworks(
            world.watches, [FakeReader(anew)], head_timeout=timedelta(seconds=1)
        )()

        assert (report.head, report.lag_blocks) == (0, None)

    async def test_does_not_wait_for_a_node_that_is_away(self, world: World) -> None:
        world.chain.is_reachable = False

        (report,) = await ReportNetworks(
            world.watches, [FakeReader(world.chain)], head_timeout=timedelta(seconds=1)
        )()

        assert (report.head, report.lag_blocks) == (None, None)


async def test_cancellation_while_a_stream_ends_is_no_other_error(world: World) -> None:
    is_ending = asyncio.Event()
    has_ended = False

    class SlowToEnd(FakeReader):
        async def follow_batches(self, **_: Any) -> Any:
            nonlocal has_ended
            try:
                await asyncio.Event().wait()
            finally:
                is_ending.set()
                await asyncio.sleep(SLOW_SECONDS)
                has_ended = True
            yield ()

    async with world.follow(SlowToEnd(world.chain)):
        world.hinted.set()
        await is_ending.wait()

    assert has_ended  # first, and then the cancellation is raised, and no other error
