"""Wakes after a commit: in this process at once, in others by NOTIFY, which no commit contains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from libs.runtime.tests.integration.test_database import end_connections
from swap_runtime.messaging.outbox import OUTBOX, Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, execute_alone, transaction
from swap_runtime.postgres.sql import sql
from swap_runtime.postgres.wake import Wake, Wakes
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
SOON, PATIENCE = timedelta(milliseconds=300), timedelta(seconds=10)
OUTGOING = Outgoing(UUID(int=1), "t", b"k", b"p")
NOTE = sql("INSERT INTO note (thing) VALUES ('x')")


@asynccontextmanager
async def process(engine: Engine, url: str) -> AsyncIterator[Wakes]:
    """Yield the wakes of a process that listens and notifies."""
    wakes = Wakes(engine, SecretStr(url), service="settler")
    connected = wakes.on("connected")
    loops = [
        asyncio.create_task(run(lambda: None)) for run in (wakes.listen, wakes.notify_processes)
    ]
    try:
        assert await woken(connected)  # a notification may have been missed
        yield wakes
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


async def woken(wake: Wake) -> bool:
    return await wake.wait(PATIENCE)


async def is_not_woken(wake: Wake) -> bool:
    return not await wake.wait(SOON)


class TestACommit:
    async def test_wakes_who_waits_in_the_same_process_without_a_server(
        self, engine: Engine, url: str
    ) -> None:
        wakes = Wakes(engine, SecretStr(url), service="settler")  # it is not started
        engine.wake_listener, wake, other = wakes.wake_all, wakes.on(OUTBOX), wakes.on("other")

        async with transaction(engine) as connection:
            add_to_outbox(connection, [OUTGOING])
            assert await is_not_woken(wake)  # not before it is committed

        assert await woken(wake)
        assert await is_not_woken(other)

    async def test_wakes_every_waiter(self, engine: Engine, url: str) -> None:
        wakes = Wakes(engine, SecretStr(url), service="settler")
        engine.wake_listener, two = wakes.wake_all, [wakes.on(OUTBOX) for _ in range(2)]

        await execute_alone(engine, NOTE, wakes=[OUTBOX])

        for wake in two:
            assert await woken(wake)

    async def test_wakes_no_worker_if_it_fails_or_is_not_reached(
        self, engine: Engine, url: str
    ) -> None:
        wakes = Wakes(engine, SecretStr(url), service="settler")
        engine.wake_listener, wake = wakes.wake_all, wakes.on("it")

        with suppress(RuntimeError):
            async with transaction(engine) as connection:
                connection.wake("it")
                raise RuntimeError
        with suppress(psycopg.errors.DivisionByZero):
            async with transaction(engine) as connection:
                connection.wake("it")
                connection.post(sql("SELECT 1 / 0"))
        with suppress(psycopg.errors.DivisionByZero):
            await execute_alone(engine, sql("SELECT 1 / 0"), wakes=["it"])

        assert await is_not_woken(wake)

    async def test_does_not_notify_automatically(self, engine: Engine, url: str) -> None:
        """Postgres would let only one transaction of all databases commit at a time."""
        async with process(engine, url) as other:
            wake = other.on(OUTBOX)

            async with transaction(engine) as connection:
                add_to_outbox(connection, [OUTGOING])

            assert await is_not_woken(wake)


class TestOtherProcesses:
    @pytest.mark.fault("K5")
    async def test_k5_are_notified_and_woken_after_a_lost_connection(
        self, engine: Engine, url: str, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("swap_runtime.postgres.wake.RECONNECT_PAUSE_SECONDS", 0.1)
        async with process(engine, url) as here, process(engine, url) as there:
            engine.wake_listener, wake, other = here.wake_all, there.on("it"), there.on("other")

            async with transaction(engine) as connection:
                await connection.execute(NOTE)
                connection.wake("it")

            assert await woken(wake)
            assert await is_not_woken(other)
            end_connections(database)
            assert await woken(wake)
            assert await woken(other)

    async def test_are_left_alone_while_the_one_who_works_is_here(
        self, engine: Engine, url: str
    ) -> None:
        async with process(engine, url) as here, process(engine, url) as there:
            engine.wake_listener, is_leader = here.wake_all, True
            mine, theirs = here.on("it"), there.on("it")
            mine.set_local_condition(lambda: is_leader)

            await execute_alone(engine, NOTE, wakes=["it"])
            assert await woken(mine)
            assert await is_not_woken(theirs)

            is_leader = False
            await execute_alone(engine, NOTE, wakes=["it"])
            assert await woken(theirs)

    async def test_are_notified_where_only_one_local_waiter_works_alone(
        self, engine: Engine, url: str
    ) -> None:
        async with process(engine, url) as here, process(engine, url) as there:
            engine.wake_listener, theirs = here.wake_all, there.on("it")
            here.on("it").set_local_condition(lambda: True)
            here.on("it")

            await execute_alone(engine, NOTE, wakes=["it"])

            assert await woken(theirs)

    async def test_do_not_receive_their_own_notifications(self, engine: Engine, url: str) -> None:
        async with process(engine, url) as here, process(engine, url) as there:
            engine.wake_listener, mine, theirs = here.wake_all, here.on("it"), there.on("it")

            await execute_alone(engine, NOTE, wakes=["it"])

            assert await woken(mine)
            assert await woken(theirs)
            assert await is_not_woken(mine)

    async def test_of_another_service_are_not_notified(self, engine: Engine, url: str) -> None:
        async with process(engine, url) as here, process(engine, url) as there:
            api = Wakes(engine, SecretStr(url), service="api")
            engine.wake_listener, mine, theirs = api.wake_all, here.on("it"), there.on("it")
            notifying = asyncio.create_task(api.notify_processes(lambda: None))

            await execute_alone(engine, NOTE, wakes=["it"])

            assert await is_not_woken(mine)
            assert await is_not_woken(theirs)
            notifying.cancel()
