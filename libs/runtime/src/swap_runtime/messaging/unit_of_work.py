"""The transaction in which a consumer handles its messages: the inbox, and what a service adds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar
from uuid import UUID

from swap_runtime.messaging.inbox import mark_seen
from swap_runtime.postgres.database import Engine, Transaction, transaction


class ConsumerWork:
    """One open transaction. A posted statement leaves with the next awaited one, or with COMMIT."""

    def __init__(self, connection: Transaction, consumer: str) -> None:
        self._connection = connection
        self._consumer = consumer

    async def mark_seen(self, message_ids: Sequence[UUID]) -> frozenset[UUID]:
        """Put the messages into the inbox and return those that were not there yet."""
        return await mark_seen(self._connection, self._consumer, message_ids)


Work = TypeVar("Work", bound=ConsumerWork)


class UnitOfWork(Generic[Work]):
    """Opens transactions of one class."""

    _opens: type[Work]

    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Work]:
        """Open one transaction: commit on a clean exit, roll back on any exception."""
        async with transaction(self._engine) as connection:
            yield self._opens(connection, self._consumer)
