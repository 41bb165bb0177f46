"""Hints of deposits: the network is read at once, then repeatedly, and at a limited rate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from watch_factories import NETWORK
from watch_world import NOW, SHORT_TIMINGS, World

from swap_chain_watcher.adapters.unit_of_work import hint_channel
from swap_chain_watcher.domain.hints import HintBackoff
from swap_chain_watcher.usecases.record_hints import RecordHints
from swap_chain_watcher.usecases.repeat_hints import RepeatHints
from swap_chains.fake import FakeReader
from swap_contracts.deposits import DepositHinted
from swap_contracts.topics import DEPOSIT_HINTED
from swap_runtime.messaging.outbox import OUTBOX
from swap_runtime.postgres.database import reading, transaction
from swap_runtime.postgres.sql import sql
from tests.support.waiting import until

pytestmark = pytest.mark.connected
BACKOFF = HintBackoff(pause_max=timedelta(seconds=3))


class SilentReader(FakeReader):
    """Reads once when its stream is opened, then blocks; it counts how often it was opened."""

    opened = 0

    async def follow_batches(self, **place: Any) -> Any:
        self.opened += 1
        async for batch in super().follow_batches(**place):
            yield batch
            await asyncio.Event().wait()


class PausableReader(FakeReader):
    """Reports nothing while it is blind, like a node with a head below the final block."""

    is_paused = False

    async def follow_batches(self, **place: Any) -> Any:
        if self.is_paused:
            await asyncio.Event().wait()
        async for batch in super().follow_batches(**place):
            yield batch


@contextmanager
def listening(world: World) -> Iterator[Callable[[], int]]:
    """Yield a function that returns the wake-ups of the network's follower since the last call."""
    channels: list[str] = []
    world.engine.wake_listener = channels.extend

    def wakes() -> int:
        assert set(channels) <= {hint_channel(NETWORK), OUTBOX}
        times = channels.count(hint_channel(NETWORK))
        channels.clear()
        return times

    yield wakes
    world.engine.wake_listener = lambda _: None


class TestHints:
    async def test_make_the_follower_see_at_once_what_it_had_not_seen(self, world: World) -> None:
        async with world.follow(SilentReader(world.chain)):
            world.chain.mine()
            await until(lambda: self._has_cursor(world, 1))
            await world.deposits(7)
            world.chain.mine()
            assert (
                await world.published_versions() == []
            )  # the reader sleeps, so it would never return

            world.hinted.set()

            await world.publishes(("seen", 1))

    async def test_do_not_hide_that_the_chain_was_recreated(self, world: World) -> None:
        reader, remaining = PausableReader(world.chain), timedelta(milliseconds=5)
        async with world.follow(reader, timings=replace(SHORT_TIMINGS, between_hints=remaining)):
            world.chain.mine(10)
            await world.is_at_head()
            reader._chain, reader.is_paused = world.another_chain(blocks=1), True

            async def is_halted() -> bool:
                world.hinted.set()
                return await world.watches.find_halt(NETWORK) is not None

            await until(is_halted)

    async def test_that_are_too_many_cause_reads_at_a_limited_rate(self, world: World) -> None:
        remaining = timedelta(milliseconds=200)
        reader, loop = SilentReader(world.chain), asyncio.get_running_loop()
        async with world.follow(reader, timings=replace(SHORT_TIMINGS, between_hints=remaining)):
            world.chain.mine()
            await until(lambda: self._has_cursor(world, 1))
            began, before = loop.time(), reader.opened

            async def has_looked_three_times() -> bool:
                world.hinted.set()
                return reader.opened - before >= 3

            await until(has_looked_three_times)
            looks, elapsed = reader.opened - before, loop.time() - began

        assert looks <= elapsed / remaining.total_seconds() + 1

    async def test_that_arrive_too_early_cause_the_next_permitted_read(self, world: World) -> None:
        """The rate limit loses no hint: its transaction is seen at the next permitted read."""
        timings = replace(SHORT_TIMINGS, between_hints=timedelta(milliseconds=200))
        async with world.follow(SilentReader(world.chain), timings=timings):
            world.chain.mine()
            await until(lambda: self._has_cursor(world, 1))
            await world.deposits(7)
            world.chain.mine()
            world.hinted.set()

            await world.publishes(("seen", 1))

    async def test_are_limited_without_delaying_blocks(self, world: World) -> None:
        """A follower without hints for an hour still reads every block."""
        timings = replace(SHORT_TIMINGS, between_hints=timedelta(hours=1))
        async with world.follow(timings=timings):
            world.hinted.set()
            await world.deposits(7)
            world.chain.mine()

            await world.publishes(("seen", 1))

    async def test_wake_the_follower_and_only_once(self, world: World) -> None:
        envelope = DEPOSIT_HINTED.seal(
            DepositHinted(network=NETWORK, transaction_hash="0xabc"),
            version="0xabc",
            occurred_at=NOW,
            trace_id="t",
        )
        record_hints = RecordHints(world.work, networks=[NETWORK], backoff=BACKOFF)
        with listening(world) as wakes:
            await record_hints([envelope])
            await record_hints([envelope])
            assert wakes() == 1

    async def test_are_repeated_ever_more_rarely_until_the_transaction_is_seen(
        self, world: World
    ) -> None:
        sent = await world.deposits(7)
        await self._hinted(world, sent.transaction_hash)
        repeat_hints = RepeatHints(world.work, backoff=BACKOFF)

        with listening(world) as wakes:
            await repeat_hints()
            assert wakes() == 0  # not due yet
            pauses = []
            for _ in range(4):
                await self._change(world, "UPDATE hint SET due_at = now()")
                await repeat_hints()
                assert wakes() == 1
                pauses += await self._pauses(world)
            assert pauses == [1, 2, 3, 3]

            world.chain.mine()
            async with world.follow():
                await world.publishes(("seen", 1))
            await self._change(world, "UPDATE hint SET due_at = now()")
            await repeat_hints()
            assert wakes() == 0
        assert await self._pauses(world) == []

    async def test_are_deleted_when_the_transaction_stays_unknown(self, world: World) -> None:
        await self._hinted(world, "0xabc")
        await self._change(world, "UPDATE hint SET due_at = now(), ends_at = now()")

        with listening(world) as wakes:
            await RepeatHints(world.work, backoff=BACKOFF)()
            assert wakes() == 0
        assert await self._pauses(world) == []

    @staticmethod
    async def _hinted(world: World, transaction_hash: str) -> None:
        envelope = DEPOSIT_HINTED.seal(
            DepositHinted(network=NETWORK, transaction_hash=transaction_hash),
            version=transaction_hash,
            occurred_at=NOW,
            trace_id="t",
        )
        await RecordHints(world.work, networks=[NETWORK], backoff=BACKOFF)([envelope])

    @staticmethod
    async def _pauses(world: World) -> list[int]:
        """Return for each hint the seconds until it is due."""
        left = "SELECT round(extract(epoch FROM due_at - now()))::int FROM hint"
        async with reading(world.engine) as connection:
            return await connection.scalars(sql(left))

    @staticmethod
    async def _change(world: World, statement: str) -> None:
        async with transaction(world.engine) as connection:
            await connection.execute(sql(statement))

    @staticmethod
    async def _has_cursor(world: World, number: int) -> bool:
        watch = await world.watches.load(NETWORK)
        return watch is not None and watch.cursor.number == number
