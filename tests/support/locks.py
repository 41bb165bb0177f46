"""Waits until a statement is blocked by a lock, which only the server can report."""

from __future__ import annotations

from typing import Final

from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql
from tests.support.waiting import until

BLOCKED: Final = sql("""
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database()
    AND position(CAST(:statement AS text) IN query) > 0
""")


async def until_blocked(engine: Engine, statement: str = "") -> None:
    """Return when a session of this database is blocked by a lock.

    :param statement: a part of the blocked statement.
    """

    async def is_blocked() -> bool:
        async with reading(engine) as connection:
            return bool(await connection.scalar(BLOCKED, {"statement": statement}))

    await until(is_blocked, what=f"a lock that {statement or 'anything'} waits for", every=0.01)
