"""Messages as an operator sees them, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from swap_notifier.adapters import statements
from swap_runtime.database import Engine, reading, transaction


class PostgresMessages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_of_swap(self, swap_id: UUID) -> Sequence[Mapping[str, Any]]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.MESSAGES_OF_SWAP, {"swap_id": swap_id})
            return [row._asdict() for row in rows]

    async def replay(self, message_id: str, *, at: datetime) -> bool:
        async with transaction(self._engine) as connection:
            values = {"id": message_id, "at": at}
            found = await connection.scalar(statements.REPLAY, values)
            await connection.execute(statements.NOTIFY)
            return found is not None

    async def discard(self, *, at: datetime) -> int:
        async with transaction(self._engine) as connection:
            return len(await connection.scalars(statements.DISCARD, {"at": at}))

    async def forget(self, *, before: datetime, limit: int) -> int:
        async with transaction(self._engine) as connection:
            values = {"before": before, "limit": limit}
            return len(await connection.scalars(statements.FORGET, values))
