"""Wake-up hints between tasks and processes, so that loops poll rarely. A hint may be lost.

A commit names what it wakes. Tasks that wait for it in the same process are woken at once, without
a server. The service's other processes are woken with NOTIFY, where they may have to work. Never in
the transaction itself: Postgres lets only one transaction that notifies commit at a time, in all of
its databases. Each waits until the previous one is on disk.

One connection per process listens for all tasks. After a reconnect every waiter is woken once,
because notifications may have been missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from secrets import token_hex
from typing import Final

import psycopg
import structlog
from psycopg import AsyncConnection, sql
from pydantic import SecretStr

from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine, execute_alone
from swap_runtime.postgres.sql import sql as statement

RECONNECT_PAUSE_SECONDS: Final = 1
BEAT_SECONDS: Final = 5
NOTIFY: Final = statement("SELECT pg_notify(:service, :payload)")
log = structlog.get_logger()


class Wake:
    """One thing to wait for."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._is_local: Callable[[], bool] = lambda: False

    @property
    def is_local(self) -> bool:
        """Whether no other process needs the notifications that are waited for here."""
        return self._is_local()

    def set_local_condition(self, is_sufficient: Callable[[], bool]) -> None:
        """Notify no other process while this holds: this process leads, or has free capacity."""
        self._is_local = is_sufficient

    def set(self) -> None:
        """Wake the waiting task, or the next one."""
        self._event.set()

    async def wait(self, at_most: timedelta) -> bool:
        """Return True when woken, which consumes the wake-up; False on timeout."""
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


class Wakes:
    """Everything that the loops of a process wait for, by channels of its service's own."""

    def __init__(self, engine: Engine, url: SecretStr, *, service: str) -> None:
        self._engine = engine
        self._url = url
        self._service = service
        self._process = token_hex(8)
        self._wakes: dict[str, list[Wake]] = {}
        self._unsent: set[str] = set()
        self._has_unsent = Wake()

    def on(self, channel: str) -> Wake:
        """Return a wake of a channel, for one task to wait on: a wake-up consumes it."""
        wake = Wake()
        self._wakes.setdefault(channel, []).append(wake)
        return wake

    def wake_all(self, channels: Collection[str]) -> None:
        """Wake the tasks here; other processes are notified later, where one may have to work.

        :param channels: names without a space.
        """
        for channel in channels:
            self._wake(channel)
            here = self._wakes.get(channel, ())
            if not here or not all(wake.is_local for wake in here):
                self._unsent.add(channel)
                self._has_unsent.set()

    async def notify_processes(self, beat: Callable[[], None]) -> None:
        """Notify the others without end: all names since the last notification, at once."""
        while True:
            beat()
            await self._has_unsent.wait(timedelta(seconds=BEAT_SECONDS))
            channels, self._unsent = self._unsent, set()
            if channels:
                payload = " ".join([self._process, *sorted(channels)])
                with suppress(Unavailable):  # they poll anyway
                    values = {"service": self._service, "payload": payload}
                    await execute_alone(self._engine, NOTIFY, values)

    async def listen(self, beat: Callable[[], None]) -> None:
        """Listen for ever, over every loss of the connection."""
        while True:
            beat()
            try:
                await self._listen(beat)
            except psycopg.Error as error:
                log.info("listening connection lost", error=str(error))
            await asyncio.sleep(RECONNECT_PAUSE_SECONDS)

    async def _listen(self, beat: Callable[[], None]) -> None:
        connection = await AsyncConnection.connect(
            self._url.get_secret_value().replace("+psycopg", "", 1),
            autocommit=True,
            application_name=f"{self._service} listener",
            connect_timeout=5,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
        )
        async with connection:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._service)))
            for channel in self._wakes:
                self._wake(channel)
            while True:
                async for notification in connection.notifies(timeout=BEAT_SECONDS):
                    process, *channels = notification.payload.split(" ")
                    for channel in channels if process != self._process else ():
                        self._wake(channel)
                beat()

    def _wake(self, channel: str) -> None:
        for wake in self._wakes.get(channel, ()):
            wake.set()
