"""Orders that await a second operator, in Postgres: each is carried out at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import orjson

from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.operator_log import INSERT, LoggedOrder, OrderOutcome
from swap_runtime.postgres.database import Engine, Transaction, read_alone, transaction
from swap_runtime.postgres.sql import Row, sql

COLUMNS: Final = """
id, action, target, body, why, reason, proposed_by, proposed_at, expires_at, ended_by, ended_at,
outcome, expires_at <= now() AS is_expired
"""
PROPOSE: Final = sql("""
INSERT INTO operator_proposal (id, action, target, body, why, reason, proposed_by, expires_at)
VALUES (:id, :action, CAST(CAST(:target AS text) AS jsonb), :body, :why, :reason, :by,
        now() + CAST(:lifetime AS interval))
""")
FIND: Final = sql(f"SELECT {COLUMNS} FROM operator_proposal WHERE id = :id")
LIST_OPEN: Final = sql(f"""
SELECT {COLUMNS} FROM operator_proposal WHERE ended_at IS NULL AND expires_at > now()
    AND (proposed_at, id) > (coalesce(CAST(:after_at AS timestamptz), '-infinity'),
        CAST(:after_id AS uuid))
    AND action = coalesce(CAST(:action AS text), action)
ORDER BY proposed_at, id LIMIT :limit
""")
FIRST_ID: Final = UUID(int=0)
END: Final = sql("""
UPDATE operator_proposal SET ended_by = :by, ended_at = now(), outcome = :outcome
WHERE id = :id AND ended_at IS NULL AND expires_at > now()
""")


@dataclass(frozen=True, slots=True)
class Proposal:
    id: UUID
    action: str
    target: Mapping[str, str]
    body: bytes
    why: str  # what makes it need a second operator
    reason: str | None
    proposed_by: str
    proposed_at: datetime
    expires_at: datetime
    ended_by: str | None
    ended_at: datetime | None
    outcome: str | None  # None: it is open, or expired
    is_expired: bool

    @property
    def state(self) -> str:
        return self.outcome or ("expired" if self.is_expired else "open")

    def require_open(self) -> None:
        """
        :raises RequestRefused: when it was approved or rejected, or has expired.
        """
        if self.outcome is not None:
            raise RequestRefused(f"proposal {self.id} was {self.outcome}")
        if self.is_expired:
            raise RequestRefused(f"proposal {self.id} has expired: order it again")


class Proposals:
    """Orders that wait for a second operator.

    `order_desk.py` requires that the approver is another operator. An approval ends the proposal in
    the transaction of its order.
    """

    def __init__(self, engine: Engine, *, lifetime: timedelta) -> None:
        self._engine = engine
        self._lifetime = lifetime

    async def propose(
        self, id: UUID, order: OperatorOrder, logged: LoggedOrder, *, why: str
    ) -> None:
        """Store an order instead of carrying it out, with its row of the log."""
        values = {
            "id": id,
            "action": logged.action,
            "target": orjson.dumps(dict(order.target)).decode(),
            "body": order.body.decode(),
            "why": why,
            "reason": logged.reason,
            "by": logged.operator.name,
            "lifetime": self._lifetime,
        }
        async with transaction(self._engine) as connection:
            connection.post(PROPOSE, values)
            connection.post(INSERT, logged.row(OrderOutcome.PROPOSED, why))
            logged.log_transaction = connection

    async def find(self, id: UUID) -> Proposal | None:
        row = (await read_alone(self._engine, FIND, {"id": id})).one_or_none()
        return None if row is None else _to_proposal(row)

    async def list_open(
        self, *, action: str | None, after: tuple[datetime, UUID] | None, limit: int
    ) -> Sequence[Proposal]:
        """Return the oldest open ones.

        :param action: only proposals of this action.
        :param after: only what follows the proposal of this time and id.
        """
        after_at, after_id = after or (None, FIRST_ID)
        values = {"action": action, "after_at": after_at, "after_id": after_id, "limit": limit}
        return [_to_proposal(row) for row in await read_alone(self._engine, LIST_OPEN, values)]

    async def reject(self, id: UUID, logged: LoggedOrder) -> None:
        """
        :raises RequestRefused: when it is not open any more.
        """
        async with transaction(self._engine) as connection:
            await end_proposal(connection, id, by=logged.operator.name, outcome="rejected")
            connection.post(INSERT, logged.row(OrderOutcome.DONE))
            logged.log_transaction = connection


async def end_proposal(connection: Transaction, id: UUID, *, by: str, outcome: str) -> None:
    """End it in the transaction of the caller, such as the one that carries the order out.

    Its row is locked: a second caller finds it ended.

    :raises RequestRefused: when it is not open any more.
    """
    ended = await connection.execute(END, {"id": id, "by": by, "outcome": outcome})
    if not ended.changed:
        raise RequestRefused(f"proposal {id} was approved or rejected, or has expired")


def proposal_to_json(proposal: Proposal) -> Mapping[str, Any]:
    return {
        "id": str(proposal.id),
        "action": proposal.action,
        "target": dict(proposal.target),
        "order": orjson.loads(proposal.body) if proposal.body else {},
        "why": proposal.why,
        "reason": proposal.reason,
        "proposed_by": proposal.proposed_by,
        "proposed_at": proposal.proposed_at.isoformat(),
        "expires_at": proposal.expires_at.isoformat(),
        "state": proposal.state,
        "ended_by": proposal.ended_by,
        "ended_at": proposal.ended_at and proposal.ended_at.isoformat(),
    }


def _to_proposal(row: Row) -> Proposal:
    return Proposal(**{**row._asdict(), "body": row.body.encode()})
