"""Reading final blocks again: missed and invented movements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from watch_factories import (
    NETWORK,
    a_deposit,
    a_policy,
)
from watch_world import NOW, SECOND, World

from swap_chain_watcher import observe
from swap_chain_watcher.domain.watch import Halt
from swap_chain_watcher.usecases.run_second_look import RunSecondLook
from swap_chains.errors import BlockDiffers, FinalBlocksDiffer
from swap_chains.events import BlockAdded
from swap_chains.fake import FakeChain, FakeReader
from swap_runtime.errors import RequestRefused, Unavailable
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected


def contradictions() -> float:
    return float(observe.CONTRADICTIONS.labels(NETWORK)._value.get())


async def shown(world: World, statement: str) -> list[Any]:
    async with world.engine.connect() as connection:
        return list(await connection.execute(sql(statement)))


class HidingReader(FakeReader):
    """A node that omits every log when it is followed, and returns it in the second look."""

    async def follow_batches(self, **place: Any) -> Any:
        async for batch in super().follow_batches(**place):
            yield [
                BlockAdded(event.block, ()) if isinstance(event, BlockAdded) else event
                for event in batch
            ]


class InventingReader(FakeReader):
    """A node that invents a deposit in block 1, and denies it in the second look."""

    async def follow_batches(self, **place: Any) -> Any:
        async for batch in super().follow_batches(**place):
            yield [
                replace(event, movements=(*event.movements, a_deposit("invented")))
                if isinstance(event, BlockAdded) and event.block.number == 1
                else event
                for event in batch
            ]


class ReaderWithoutHistory(FakeReader):
    """A node that reported correctly, and has lost its index of logs for a while."""

    has_index = False

    async def movements(self, **place: Any) -> Any:
        found = await super().movements(**place)
        return found if self.has_index else []


class ForkedReader(FakeReader):
    """A node whose blocks have other hashes."""

    async def movements(self, **place: Any) -> Any:
        found = await super().movements(**place)
        return [replace(added, block=replace(added.block, hash="0xother")) for added in found]


class DifferingReader(FakeReader):
    """A node of another provider with a different block at the end of each range."""

    async def movements(self, **place: Any) -> Any:
        raise BlockDiffers("second", place["last"].number)


class OtherFinalBlockReader(FakeReader):
    """Nodes of two providers that do not have the same final block."""

    async def final_block(self) -> Any:
        raise FinalBlocksDiffer(NETWORK, 3, ("one.example", SECOND))


class TestLookAgain:
    def run_second_look(
        self,
        world: World,
        chain: FakeChain | None = None,
        *,
        reader: FakeReader | None = None,
        has_second_provider: bool = True,
    ) -> RunSecondLook:
        return RunSecondLook(
            world.work,
            world.watches,
            reader or FakeReader(chain or world.chain, provider=SECOND),
            policy=replace(a_policy(), has_second_provider=has_second_provider),
            clock=lambda: NOW,
            blocks_max=1000,
        )

    @pytest.mark.fault("W1")
    async def test_halts_at_once_when_another_node_denies_what_was_published(
        self, world: World
    ) -> None:
        contradicted = contradictions()
        async with world.follow(InventingReader(world.chain)):
            world.chain.mine(9)
            await world.is_at_head()

            assert not await self.run_second_look(world)()

            assert "lack 1 of the movements" in await world.is_halted()
        assert contradictions() == contradicted + 1
        assert observe.HALTED.labels(NETWORK)._value.get() == 1
        assert await world.watches.find_unchecked(NETWORK) is None

    @pytest.mark.fault("R6")
    async def test_r6_does_not_resume_while_another_node_denies_a_published_movement(
        self, world: World
    ) -> None:
        """Waiting payments would be sent before the next look halts it again."""
        async with world.follow(InventingReader(world.chain)):
            world.chain.mine(9)
            await world.is_at_head()
        await self.run_second_look(world)()

        with pytest.raises(RequestRefused, match="lack 1 of the movements"):
            await world.resuming()(NETWORK)

        assert await world.watches.find_halt(NETWORK) is not None

    @pytest.mark.fault("R6")
    async def test_r6_shows_others_a_halt_that_lasts_and_one_that_is_over(
        self, world: World
    ) -> None:
        async with world.follow():
            world.chain.mine(9)
            await world.is_at_head()
        await world.watches.halt(Halt(NETWORK, "a node lied", NOW))
        halted, all_of_them = "SELECT network FROM halted_network", "SELECT * FROM network_halt"
        assert await shown(world, halted) == [(NETWORK,)]
        [(_, began_at, ended_at)] = await shown(world, all_of_them)
        assert ended_at is None

        await world.resuming()(NETWORK)

        assert await shown(world, halted) == []
        [(_, began_before, ended_at)] = await shown(world, all_of_them)
        assert (began_before, ended_at is None) == (began_at, False)

    async def test_asks_the_only_node_twice_before_it_halts(self, world: World) -> None:
        async with world.follow(InventingReader(world.chain)):
            world.chain.mine(9)
            await world.is_at_head()
        run_second_look = self.run_second_look(world, has_second_provider=False)

        assert not await run_second_look()
        assert await world.watches.find_halt(NETWORK) is None
        assert not await run_second_look()
        assert await world.watches.find_halt(NETWORK) is not None

    async def test_accepts_a_single_node_that_finds_its_logs_again(self, world: World) -> None:
        async with world.follow():
            await world.deposits(7)
            world.chain.mine(9)
            await world.is_at_head()
        node = ReaderWithoutHistory(world.chain)
        run_second_look = self.run_second_look(world, reader=node, has_second_provider=False)

        assert not await run_second_look()
        node.has_index = True
        assert await run_second_look()
        assert await world.watches.find_halt(NETWORK) is None

    @pytest.mark.parametrize("is_alone", [False, True])
    @pytest.mark.fault("W27")
    async def test_w27_halts_when_two_providers_have_another_final_block(
        self, world: World, is_alone: bool
    ) -> None:
        """With a single node, a changed final block is a reorg, which the follower detects."""
        async with world.follow():
            await world.deposits(7)
            world.chain.mine(9)
            await world.is_at_head()
        contradicted = contradictions()
        reader = ForkedReader(world.chain, provider=SECOND)

        run_second_look = self.run_second_look(
            world, reader=reader, has_second_provider=not is_alone
        )
        assert not await run_second_look()

        assert contradictions() == contradicted + 1
        halt = await world.watches.find_halt(NETWORK)
        assert (halt is None) is is_alone

    @pytest.mark.fault("W27")
    async def test_w27_halts_when_another_provider_has_another_last_block(
        self, world: World
    ) -> None:
        async with world.follow():
            world.chain.mine(9)
            await world.is_at_head()

        assert not await self.run_second_look(
            world, reader=DifferingReader(world.chain, provider=SECOND)
        )()

        assert "block 3 is not the one" in await world.is_halted()

    @pytest.mark.fault("W27")
    async def test_w27_halts_when_two_providers_call_different_blocks_final(
        self, world: World
    ) -> None:
        """Also where no block is left for a second look; and it stays halted meanwhile."""
        async with world.follow():
            world.chain.mine(9)
            await world.is_at_head()
        assert await self.run_second_look(world)()
        false_reader = OtherFinalBlockReader(world.chain, provider=SECOND)

        assert not await self.run_second_look(world, reader=false_reader)()

        assert "differ on final block 3" in await world.is_halted()
        with pytest.raises(Unavailable, match="differ on final block 3"):
            await world.resuming(false_reader)(NETWORK)

    @pytest.mark.fault("W1")
    async def test_w1_never_asks_the_provider_of_the_first_look_again(self, world: World) -> None:
        """Also where only that provider answers: the look is delayed, and an alarm counts it."""
        async with world.follow(FakeReader(world.chain, provider="liar.example")):
            world.chain.mine(9)
            await world.is_at_head()
        failed = observe.SECOND_LOOK_FAILURES.labels(NETWORK)._value.get()

        false_reader = FakeReader(world.chain, provider="liar.example")
        assert not await self.run_second_look(world, reader=false_reader)()

        assert observe.SECOND_LOOK_FAILURES.labels(NETWORK)._value.get() == failed + 1
        unchecked = await world.watches.find_unchecked(NETWORK)
        assert unchecked is not None
        assert unchecked.checked_number == 0
        assert await self.run_second_look(world)()

    @pytest.mark.fault("W1")
    async def test_w1_looks_at_the_blocks_of_one_provider_at_a_time(self, world: World) -> None:
        """After a failover each half is verified by the other provider; none confirms itself."""
        async with world.follow(FakeReader(world.chain, provider="one.example")):
            world.chain.mine(9)
            await world.is_at_head()
        async with world.follow(FakeReader(world.chain, provider="other.example")):
            world.chain.mine(9)
            await world.is_at_head()
        ranges: list[tuple[int, int, frozenset[str]]] = []

        class RecordingReader(FakeReader):
            async def movements(self, **place: Any) -> Any:
                ranges.append(
                    (place["first"], place["last"].number, frozenset(place["excluded_providers"]))
                )
                return await super().movements(**place)

        run_second_look = self.run_second_look(
            world, reader=RecordingReader(world.chain, provider=SECOND)
        )
        assert await run_second_look()
        assert await run_second_look()
        assert not await run_second_look()

        one, other = frozenset({"one.example"}), frozenset({"other.example"})
        assert ranges == [(1, 9, one), (10, 12, other)]

    @pytest.mark.fault("W1")
    async def test_adds_what_a_node_hid(self, world: World) -> None:
        run_second_look = self.run_second_look(world)
        async with world.follow(HidingReader(world.chain)):
            await world.deposits(7)
            world.chain.mine(9)
            await world.is_at_head()
            assert await world.published_versions() == []

            assert await run_second_look()
            assert await world.published_versions() == [("seen", 1), ("confirmed", 2)]
            assert not await run_second_look()
            world.chain.mine()
            await world.is_at_head()

        assert (await world.messages())[0]["sequence_number"] == 7
        async with world.engine.connect() as connection:
            last = await connection.scalar(sql("SELECT max(id) FROM outbox"))
            progress = (await connection.execute(sql("SELECT * FROM progress"))).one()
        assert progress.last_outbox_id == last

    @pytest.mark.fault("W1")
    async def test_adds_a_hidden_movement_of_a_block_that_returned(self, world: World) -> None:
        """A movement reverted by the reorg is stored in the same block, and not published again."""
        async with world.follow():
            await world.deposits(7)
            world.chain.mine(9)
            await world.is_at_head()
        await shown(
            world, "UPDATE movement SET state = 'reverted' WHERE state = 'confirmed' RETURNING 1"
        )
        await shown(
            world,
            "UPDATE chain_block SET state = 'orphan', finalized = false WHERE number = 1"
            " RETURNING 1",
        )
        before = await world.published_versions()

        assert await self.run_second_look(world)()

        [*earlier, seen, confirmed] = await world.published_versions()
        assert earlier == before
        assert [state for state, _ in (seen, confirmed)] == ["seen", "confirmed"]

    async def test_adds_no_known_movement(self, world: World) -> None:
        async with world.follow():
            await world.deposits(7)
            world.chain.mine(9)
            await world.is_at_head()
        before = await world.published_versions()

        assert await self.run_second_look(world)()
        assert await world.published_versions() == before

    async def test_does_not_read_blocks_that_are_not_final(self, world: World) -> None:
        async with world.follow(HidingReader(world.chain)):
            await world.deposits(7)
            world.chain.mine(3)
            await world.is_at_head()

            assert not await self.run_second_look(world)()
            assert await world.published_versions() == []

    async def test_ignores_a_node_of_another_chain(self, world: World) -> None:
        async with world.follow():
            world.chain.mine(9)
            await world.is_at_head()

        assert not await self.run_second_look(world, world.another_chain(blocks=9))()
        unchecked = await world.watches.find_unchecked(NETWORK)
        assert unchecked is not None
        assert unchecked.checked_number == 0
