from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from swap_runtime.postgres.database import Engine, transaction
from swap_runtime.postgres.leases import (
    Lease,
    LeaseLost,
    hold_lease,
    require_epoch,
    work_while_held,
)
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected
SHORT = timedelta(milliseconds=500)
TAKE_LEASE = sql(
    "UPDATE lease SET holder = 'thief', epoch = epoch + 1, expires_at = now() + '1 hour'"
)
END = sql("UPDATE lease SET expires_at = '-infinity'")
HOUR_SECONDS = 3600.0
JUMPS = pytest.mark.parametrize("jump", [HOUR_SECONDS, -HOUR_SECONDS], ids=["forward", "back"])


def jump_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Change the clock of this host, as its operator could."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)


@contextmanager
def later_in_the_loop(seconds: float) -> Iterator[None]:
    """Advance only the clock of the running loop, which is monotonic."""
    loop = asyncio.get_running_loop()
    real = loop.time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "time", lambda: real() + seconds)
        yield


async def execute(engine: Engine, statement: object) -> None:
    async with transaction(engine) as connection:
        await connection.execute(statement)  # type: ignore[call-overload]


class TestLease:
    async def test_is_held_by_one(self, engine: Engine) -> None:
        mine, theirs = (Lease(engine, "x", holder=holder) for holder in ("a", "b"))

        assert await mine.acquire()
        assert not await theirs.acquire()

    @JUMPS
    @pytest.mark.fault("M9")
    async def test_m9_is_held_by_one_with_any_host_clock(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch, jump: float
    ) -> None:
        mine, theirs = (Lease(engine, "x", holder=holder) for holder in ("a", "b"))
        await mine.acquire()

        jump_clock(monkeypatch, jump)

        assert mine.is_held
        assert not await theirs.acquire()

    @JUMPS
    @pytest.mark.fault("M9")
    async def test_m9_expires_for_its_holder_with_any_host_clock(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch, jump: float
    ) -> None:
        mine, theirs = (Lease(engine, "x", holder=holder, term=SHORT) for holder in ("a", "b"))
        await mine.acquire()

        jump_clock(monkeypatch, jump)
        while not await theirs.acquire():  # noqa: ASYNC110  only the server has it
            await asyncio.sleep(SHORT.total_seconds() / 5)

        assert not mine.is_held

    @pytest.mark.fault("M9")
    async def test_m9_expires_for_its_holder_only_by_the_clock_of_the_loop(
        self, engine: Engine
    ) -> None:
        """The host's clocks do not matter, because they stand still in this test."""
        lease = Lease(engine, "x", holder="a", term=timedelta(seconds=HOUR_SECONDS))
        await lease.acquire()

        with later_in_the_loop(HOUR_SECONDS / 2):
            assert lease.is_held
        with later_in_the_loop(HOUR_SECONDS):
            assert not lease.is_held

    async def test_epoch_grows_with_every_acquisition(self, engine: Engine) -> None:
        mine, theirs = (Lease(engine, "x", holder=holder) for holder in ("a", "b"))
        await mine.acquire()
        await mine.release()
        await theirs.acquire()
        await theirs.release()
        await mine.acquire()

        assert mine.epoch == 3

    async def test_renewing_keeps_the_epoch(self, engine: Engine) -> None:
        lease = Lease(engine, "x", holder="a", term=timedelta(0))
        await lease.acquire()
        await lease.acquire()

        assert lease.epoch == 1

    async def test_is_acquired_and_released_in_one_round_trip_each(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        lease = Lease(engine, "x", holder="a")

        await lease.acquire()
        await lease.acquire()
        await lease.release()

        assert round_trips == [1, 1]

    @pytest.mark.parametrize("is_fresh", [False, True])
    async def test_is_taken_together_with_what_is_asked_under_it(
        self, engine: Engine, round_trips: list[int], *, is_fresh: bool
    ) -> None:
        lease = Lease(engine, "x", holder="a")
        if is_fresh:
            await lease.acquire()
            round_trips.clear()
        holder = sql("SELECT holder FROM lease WHERE name = :name")

        async with lease.transaction((holder, {"name": "x"})) as (_, is_held, [[found]]):
            pass

        assert (is_held, found.holder) == (True, "a")
        assert round_trips == [2 if is_fresh else 3, 1]

    async def test_is_unknown_after_its_transaction_failed(self, engine: Engine) -> None:
        lease = Lease(engine, "x", holder="a")
        with pytest.raises(ZeroDivisionError):
            async with lease.transaction():
                raise ZeroDivisionError

        assert not lease.is_held
        assert await Lease(engine, "x", holder="b").acquire()


class TestRequireEpoch:
    @pytest.mark.fault("S8")
    async def test_s8_refuses_the_write_of_a_holder_whose_time_has_passed(
        self, engine: Engine
    ) -> None:
        lease = Lease(engine, "x", holder="a")
        await lease.acquire()
        assert lease.epoch is not None
        async with transaction(engine) as connection:
            await require_epoch(connection, "x", lease.epoch)
        await execute(engine, TAKE_LEASE)

        with pytest.raises(LeaseLost):
            async with transaction(engine) as connection:
                await require_epoch(connection, "x", lease.epoch)


class TestHeld:
    @pytest.mark.fault("R4r")
    async def test_cancels_the_work_when_the_lease_is_lost(self, engine: Engine) -> None:
        async def work() -> None:
            async with asyncio.timeout(10), hold_lease(engine, "x", holder="a", term=SHORT):
                await execute(engine, TAKE_LEASE)
                await asyncio.Event().wait()

        with pytest.raises(LeaseLost):
            await work()

    async def test_keeps_it_for_as_long_as_the_work_takes(self, engine: Engine) -> None:
        async with hold_lease(engine, "x", holder="a", term=SHORT) as lease:
            await asyncio.sleep(SHORT.total_seconds() * 2)  # two terms: only a renewal keeps it
            assert lease.is_held
            assert not await Lease(engine, "x", holder="b").acquire()

    async def test_passes_on_a_cancellation_from_outside(self, engine: Engine) -> None:
        async def work() -> None:
            async with hold_lease(engine, "x", holder="a", term=SHORT):
                running.set()
                await asyncio.Event().wait()

        running = asyncio.Event()
        task = asyncio.create_task(work())
        await running.wait()
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert await Lease(engine, "x", holder="b").acquire()

    async def test_begins_again_when_it_is_its_turn_again(self, engine: Engine) -> None:
        epochs: list[int | None] = []

        async def work(lease: Lease) -> None:
            epochs.append(lease.epoch)
            if len(epochs) == 1:
                await execute(engine, TAKE_LEASE)
                await asyncio.get_running_loop().create_future()

        async def give_back() -> None:
            while not epochs:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(SHORT.total_seconds())
            await execute(engine, END)

        async with asyncio.timeout(20):
            await asyncio.gather(
                work_while_held(engine, "x", work, holder="a", term=SHORT), give_back()
            )

        assert epochs == [1, 3]
