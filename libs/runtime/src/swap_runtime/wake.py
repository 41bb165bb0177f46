"""Postgres NOTIFY as a hint: it shortens a wait, and nothing is lost when it gets lost.

One connection per process listens for everybody. After a reconnect every waiter is woken once,
because nobody knows what was said meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import psycopg
import structlog
from psycopg import AsyncConnection, sql
from pydantic import SecretStr

RECONNECT_PAUSE_SECONDS: Final = 1
BEAT_SECONDS: Final = 5
log = structlog.get_logger()


class Wake:
    """One thing to wait for."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake whoever waits, or who waits next."""
        self._event.set()

    async def wait(self, at_most: timedelta) -> bool:
        """Return True when woken, False when the time is over; either way the next wait is new."""
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


class Wakes:
    """The process's listening connection."""

    def __init__(self, url: SecretStr, *, application_name: str) -> None:
        self._url = url
        self._application_name = application_name
        self._wakes: dict[str, list[Wake]] = {}
        self._connection: AsyncConnection | None = None

    def on(self, channel: str) -> Wake:
        """Return a wake of a channel, for one to wait on: whoever wakes takes the news with it.

        Asked for while listening, it counts from the next turn.
        """
        if channel not in self._wakes and self._connection is not None:
            asyncio.get_running_loop().create_task(self._connection.close())
        wake = Wake()
        self._wakes.setdefault(channel, []).append(wake)
        return wake

    async def run(self, beat: Callable[[], None]) -> None:
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
            application_name=f"{self._application_name} listener",
            connect_timeout=5,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
        )
        async with connection:
            for channel in tuple(self._wakes):
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            self._connection = connection
            for channel in self._wakes:
                self._say(channel)
            try:
                while True:
                    async for notification in connection.notifies(timeout=BEAT_SECONDS):
                        self._say(notification.channel)
                    beat()
            finally:
                self._connection = None

    def _say(self, channel: str) -> None:
        for wake in self._wakes[channel]:
            wake.set()
