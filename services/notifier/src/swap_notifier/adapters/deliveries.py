"""The queue of deliveries, in Postgres."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from swap_notifier.adapters import statements
from swap_notifier.adapters.rows import outcome_row, to_claimed
from swap_notifier.domain.outcomes import Claimed, DisabledReason, Outcome
from swap_runtime.columns import columns
from swap_runtime.database import Engine, transaction


class PostgresDeliveries:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def claim(
        self,
        *,
        at: datetime,
        until: datetime,
        claim: UUID,
        free: int,
        rooms: Mapping[UUID, int],
        first_room: int,
    ) -> Sequence[Claimed]:
        values = {
            "at": at,
            "until": until,
            "claim": claim,
            "free": free,
            "endpoint_ids": list(rooms),
            "rooms": list(rooms.values()),
            "first_room": first_room,
        }
        async with transaction(self._engine) as connection:
            rows = await connection.execute(statements.CLAIM, values)
            return [to_claimed(row, claim) for row in rows]

    async def record(self, outcomes: Sequence[Outcome]) -> None:
        disabled: dict[DisabledReason, set[UUID]] = defaultdict(set)
        for outcome in outcomes:
            if outcome.disables is not None:
                disabled[outcome.disables].add(outcome.claimed.endpoint_id)
        at = outcomes[-1].at
        async with transaction(self._engine) as connection:
            rows = columns([outcome_row(outcome) for outcome in outcomes])
            await connection.execute(statements.RECORD, rows)
            for reason, endpoint_ids in disabled.items():
                values = {"ids": sorted(endpoint_ids), "at": at, "reason": reason.value}
                await connection.execute(statements.DISABLE, values)
            if disabled:
                await connection.execute(statements.DISCARD, {"at": at})
