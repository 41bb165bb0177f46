"""Failures to sign in, counted on Postgres for all replicas."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swap_dashboard.adapters import statements
from swap_dashboard.domain.throttling import FORGOTTEN_AFTER, PAUSE_MAX, FailureCounter
from swap_runtime.postgres.database import Engine, execute_alone, transaction


class PostgresThrottle:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def begin(self, counted: Sequence[FailureCounter], at: datetime) -> datetime | None:
        """Count an attempt as failed before it is made; return until when it is refused."""
        blocked: list[datetime] = []
        async with transaction(self._engine) as connection:
            for one in counted:
                values = {
                    "key": one.key,
                    "free": one.free,
                    "at": at,
                    "forgotten": at - FORGOTTEN_AFTER,
                    "pause_max": PAUSE_MAX.total_seconds(),
                }
                if not await connection.execute(statements.BEGIN_ATTEMPT, values):
                    until = await connection.scalar(statements.BLOCKED_UNTIL, {"key": one.key})
                    blocked.append(until)
        return max(blocked, default=None)

    async def succeed(self, counted: Sequence[FailureCounter]) -> None:
        by_email, by_address = counted
        async with transaction(self._engine) as connection:
            connection.post(statements.CLEAR_FAILURES, {"key": by_email.key})
            connection.post(statements.TAKE_BACK, {"key": by_address.key})

    async def forget(self, before: datetime) -> int:
        values = {"before": before}
        return (await execute_alone(self._engine, statements.FORGET_FAILURES, values)).changed
