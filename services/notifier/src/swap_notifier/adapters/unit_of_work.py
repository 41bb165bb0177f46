"""The consumer's transaction on Postgres: marks of the inbox, then webhooks in one statement."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from swap_notifier.adapters import statements
from swap_notifier.adapters.rows import Change
from swap_notifier.domain.events import UPDATED
from swap_runtime.messaging.unit_of_work import ConsumerWork, UnitOfWork
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import PostedStatement, Transaction


class PostgresWork(ConsumerWork):
    """One transaction of the consumer."""

    def __init__(self, connection: Transaction, consumer: str) -> None:
        super().__init__(connection, consumer)
        self._added: list[PostedStatement] = []

    @property
    def created(self) -> int:
        """How many messages are new, known once the transaction is over."""
        return sum(posted.changed for posted in self._added)

    async def find_audience(
        self, app_ids: Collection[UUID], *, kept_from: datetime
    ) -> Mapping[UUID, bool]:
        """Return the apps that have an endpoint, and whether one of those gets updates.

        One that was disabled before `kept_from` does not count.
        """
        values = {"app_ids": list(app_ids), "kept_from": kept_from}
        rows = await self._connection.execute(statements.AUDIENCE, values)
        return {row.app_id: row.wants_updates for row in rows}

    async def add_messages(
        self, changes: Sequence[Change], *, at: datetime, kept_from: datetime
    ) -> None:
        """Add one message per change and endpoint that gets it, and wake the deliveries.

        For an endpoint that is disabled it is kept, to be replayed, and not sent.
        """
        rows = columns([asdict(change) for change in changes])
        values = {**rows, "at": at, "kept_from": kept_from, "updated": UPDATED}
        self._added.append(self._connection.post(statements.ADD_MESSAGES, values))
        self._connection.wake(statements.MESSAGES_DUE)


class PostgresUnitOfWork(UnitOfWork[PostgresWork]):
    _opens = PostgresWork
