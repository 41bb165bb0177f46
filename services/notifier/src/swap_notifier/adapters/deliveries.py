"""The queue of deliveries, in Postgres."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from swap_notifier import observe
from swap_notifier.adapters import statements
from swap_notifier.adapters.disabling import disable
from swap_notifier.adapters.rows import outcome_row, to_claimed
from swap_notifier.domain.outcomes import (
    FAILING_MAX,
    AttemptOutcome,
    ClaimedMessage,
    DisabledReason,
)
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, Transaction, execute_alone, transaction
from swap_runtime.postgres.sql import Row
from swap_runtime.sealing import Sealing, Unreadable


class PostgresDeliveries:
    def __init__(self, engine: Engine, sealing: Sealing) -> None:
        self._engine = engine
        self._sealing = sealing

    async def claim(
        self,
        *,
        at: datetime,
        until: datetime,
        claim: UUID,
        free: int,
        allowances: Mapping[UUID, int],
        first_allowance: int,
    ) -> Sequence[ClaimedMessage]:
        """Claim due messages, in turns between the endpoints; no other process claims them before
        `until`.
        """
        values = {
            "at": at,
            "until": until,
            "claim": claim,
            "free": free,
            "endpoint_ids": list(allowances),
            "allowances": list(allowances.values()),
            "first_allowance": first_allowance,
        }
        rows = await execute_alone(self._engine, statements.CLAIM, values)
        # A message that cannot be signed is no failure of its endpoint: it is due again when its
        # claim ends.
        return [
            to_claimed(row, claim, secrets) for row in rows if (secrets := self._secrets_of(row))
        ]

    def _secrets_of(self, row: Row) -> tuple[str, ...]:
        """Return what signs, the newest first; nothing while the newest cannot be read."""
        secrets: list[str] = []
        for one in (row.secret, row.previous_secret, row.earlier_secret):
            if one is None:
                continue
            try:
                secrets.append(self._sealing.open(one, owner_id=row.endpoint_id))
            except Unreadable as error:
                observe.secret_unreadable(row.endpoint_id, str(error))
                break
        return tuple(secrets)

    async def record(self, outcomes: Sequence[AttemptOutcome]) -> Sequence[AttemptOutcome]:
        """Write down attempts and what follows from them; without its claim, only for its endpoint.

        Return them as stored: an endpoint that answered since is not disabled.
        """
        if not any(outcome.disables for outcome in outcomes):
            await execute_alone(self._engine, statements.RECORD, _rows(outcomes))
            return outcomes
        at = outcomes[-1].at
        async with transaction(self._engine) as connection:
            outcomes = await _with_the_living_spared(connection, outcomes, at=at)
            disabled: dict[DisabledReason, set[UUID]] = defaultdict(set)
            for outcome in outcomes:
                if outcome.disables is not None:
                    disabled[outcome.disables].add(outcome.claimed.endpoint_id)
            connection.post(statements.RECORD, _rows(outcomes))
            for reason, endpoint_ids in disabled.items():
                await disable(connection, sorted(endpoint_ids), reason=reason, at=at)
        return outcomes


def _rows(outcomes: Sequence[AttemptOutcome]) -> dict[str, list[object]]:
    return columns([outcome_row(outcome) for outcome in outcomes])


async def _with_the_living_spared(
    connection: Transaction, outcomes: Sequence[AttemptOutcome], *, at: datetime
) -> Sequence[AttemptOutcome]:
    """Let one that answered since its attempts were claimed not be disabled for failing.

    They are claimed several at once, and one that comes back may not take all of what waited.
    """
    failing = {
        outcome.claimed.endpoint_id
        for outcome in outcomes
        if outcome.disables is DisabledReason.FAILING
    }
    if not failing:
        return outcomes
    values = {"ids": sorted(failing), "before": at - FAILING_MAX}
    dead = {row.id for row in await connection.execute(statements.STILL_FAILING, values)}
    dead -= {outcome.claimed.endpoint_id for outcome in outcomes if outcome.answer.is_success}
    alive = failing - dead
    return [
        outcome.without_disabling()
        if outcome.disables is DisabledReason.FAILING and outcome.claimed.endpoint_id in alive
        else outcome
        for outcome in outcomes
    ]
