"""Disables endpoints inside a transaction, and notifies the others of the same app."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from swap_notifier.adapters import statements
from swap_notifier.domain.events import DISABLED
from swap_notifier.domain.notices import disabled_notice
from swap_notifier.domain.outcomes import DisabledReason
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Transaction


async def disable(
    connection: Transaction, endpoint_ids: Sequence[UUID], *, reason: DisabledReason, at: datetime
) -> int:
    """Disable endpoints, discard what waits for them, and return how many there are of them."""
    values = {"ids": list(endpoint_ids), "reason": reason.value, "at": at}
    rows = list(await connection.execute(statements.DISABLE, values))
    connection.post(statements.DISCARD, {"at": at})
    notices = [
        {
            "id": row.id,
            "app_id": row.app_id,
            "body": disabled_notice(
                row.id,
                row.url,
                disabled_at=row.disabled_at,
                reason=row.disabled_reason,
                failing_since=row.failing_since,
            ),
        }
        for row in rows
        if row.was_enabled
    ]
    if notices:
        notice_values = {**columns(notices), "at": at, "event_type": DISABLED}
        connection.post(statements.ADD_NOTICES, notice_values)
        connection.wake(statements.MESSAGES_DUE)
    return len(rows)
