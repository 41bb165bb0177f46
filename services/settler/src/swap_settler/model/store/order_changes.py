"""What an operator's order changes by one statement, in one transaction with its log."""

from __future__ import annotations

from collections.abc import Mapping

from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, transaction
from swap_runtime.postgres.sql import Statement


async def change_by_order(
    engine: Engine,
    statement: Statement,
    values: Mapping[str, object],
    *,
    channel: str | None = None,
) -> bool:
    """Return whether it changed something; the order is logged only then.

    :param channel: is woken either way.
    """
    async with transaction(engine) as connection:
        has_changed = (await connection.execute(statement, values)).changed > 0
        if has_changed:
            await log_order(connection)
        if channel is not None:
            connection.wake(channel)
    return has_changed
