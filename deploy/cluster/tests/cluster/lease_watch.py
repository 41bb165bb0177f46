"""The holders of the services' leases, sampled while they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import psycopg

LEASES: LiteralString = " UNION ALL ".join(
    [
        "SELECT 'api/' || name, holder, isfinite(expires_at), expires_at::text,"
        " clock_timestamp() FROM api.lease",
        "SELECT 'quoter/' || name, holder, isfinite(expires_at), expires_at::text,"
        " clock_timestamp() FROM quoter.lease",
        "SELECT 'chain_watcher/' || name, holder, isfinite(expires_at), expires_at::text,"
        " clock_timestamp() FROM chain_watcher.lease",
        "SELECT 'settler/' || name, holder, isfinite(expires_at), expires_at::text,"
        " clock_timestamp() FROM settler.lease",
        "SELECT 'notifier/' || name, holder, isfinite(expires_at), expires_at::text,"
        " clock_timestamp() FROM notifier.lease",
    ]
)
EVERY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Holding:
    """The holder of a lease, its expiry, and the time of the sample."""

    holder: str  # empty after a release
    expires_at: datetime | None
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Handover:
    """A lease that passed from one pod to another."""

    lease: str
    before: Holding
    after: Holding
    seen_free: bool

    @property
    def was_released(self) -> bool:
        """Return whether the next holder acquired it before its expiry."""
        expires_at = self.before.expires_at
        return self.seen_free or (expires_at is not None and self.after.seen_at < expires_at)

    @property
    def seconds(self) -> float:
        return (self.after.seen_at - self.before.seen_at).total_seconds()


class LeaseWatch:
    """Samples every lease, ten times a second."""

    def __init__(self, stack: Mapping[str, Any]) -> None:
        self._auditor_url = stack["postgres"]["auditor_url"]
        self._last: dict[str, Holding] = {}
        self._free: set[str] = set()
        self.handovers: list[Handover] = []

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.result()

    async def _watch(self) -> None:
        async with await psycopg.AsyncConnection.connect(
            self._auditor_url, autocommit=True
        ) as connection:
            while True:
                found = await connection.execute(LEASES)
                for lease, holder, is_finite, expires_at, now in await found.fetchall():
                    until = datetime.fromisoformat(expires_at) if is_finite else None
                    self.note(lease, Holding(holder, until, now))
                await asyncio.sleep(EVERY_SECONDS)

    def note(self, lease: str, now: Holding) -> None:
        """Add a sample of a lease; a change of its holder is a handover."""
        before = self._last.get(lease)
        if not now.holder:
            self._free.add(lease)
            return
        if before is not None and before.holder != now.holder:
            self.handovers.append(Handover(lease, before, now, lease in self._free))
        self._free.discard(lease)
        self._last[lease] = now
