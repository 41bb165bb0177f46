"""The clock of the database, which every replica sees."""

from __future__ import annotations

from datetime import datetime

from swap_notifier.adapters import statements
from swap_runtime.postgres.database import Engine, reading


class DatabaseClock:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def now(self) -> datetime:
        """Return what the machine that keeps the data takes for the time."""
        async with reading(self._engine) as connection:
            moment: datetime = await connection.scalar(statements.DATABASE_NOW)
            return moment
