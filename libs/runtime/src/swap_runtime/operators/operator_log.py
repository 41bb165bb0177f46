"""The log of what operators ordered: a row in the transaction of the order itself.

Rows are only added; a trigger refuses everything else. Secrets are not written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import orjson

from swap_runtime.operators.identities import Operator
from swap_runtime.postgres.database import Engine, Transaction, read_alone, transaction
from swap_runtime.postgres.sql import Row, sql

LISTED_MAX: Final = 500
HIDDEN: Final = "[hidden]"
SECRET_NAMES: Final = frozenset(
    {"access_token", "authorization", "invitation", "password", "private_key", "secret"}
)
SECRET_PREFIXES: Final = ("svc_", "whsec_")
URL_SCHEMES: Final = ("http://", "https://")
NUL: Final = "\0"  # jsonb has no place for it
INSERT: Final = sql("""
INSERT INTO operator_order
    (order_id, operator, role, action, parameters, reason, outcome, detail, proposal_id)
VALUES (:order_id, :operator, :role, :action, CAST(CAST(:parameters AS text) AS jsonb), :reason,
        :outcome, :detail, CAST(:proposal_id AS uuid))
""")
LIST: Final = sql("""
SELECT id, order_id, at, operator, role, action, parameters, reason, outcome, detail, proposal_id
FROM operator_order
WHERE id < coalesce(CAST(:before AS bigint), 9223372036854775807)
ORDER BY id DESC LIMIT :limit
""")


class OrderOutcome(StrEnum):
    DONE = "done"
    REFUSED = "refused"
    PROPOSED = "proposed"  # it awaits a second operator
    FAILED = "failed"  # it ended with an error; a row `done` of the same order wins


@dataclass(slots=True)
class LoggedOrder:
    """An order while it is carried out."""

    id: UUID
    operator: Operator
    action: str
    parameters: Mapping[str, Any]
    reason: str | None
    proposal_id: UUID | None = None
    # Ends the proposal in the order's transaction, or refuses the order.
    end_proposal: Callable[[Transaction], Awaitable[None]] | None = None
    log_transaction: Transaction | None = None  # that wrote its row

    @property
    def is_logged(self) -> bool:
        return self.log_transaction is not None

    def row(self, outcome: OrderOutcome, detail: str | None = None) -> Mapping[str, Any]:
        return {
            "order_id": self.id,
            "operator": self.operator.name,
            "role": self.operator.role.value,
            "action": self.action,
            "parameters": orjson.dumps(self.parameters).decode(),
            "reason": self.reason,
            "outcome": outcome.value,
            "detail": detail,
            "proposal_id": self.proposal_id,
        }


_order: ContextVar[LoggedOrder | None] = ContextVar("operator_order", default=None)


@contextmanager
def carrying_out(order: LoggedOrder) -> Iterator[None]:
    """Let `log_order` write this order into the transactions that are opened inside."""
    mark = _order.set(order)
    try:
        yield
    finally:
        _order.reset(mark)


async def log_order(connection: Transaction, *, is_final: bool = True) -> None:
    """Write the order that is carried out into its own transaction; do nothing outside an order.

    An approved order ends its proposal here: of two approvals one commits.

    :param is_final: False where a later transaction of the same order completes it, and writes a
        row of its own.
    :raises RequestRefused: when the proposal was carried out, rejected or expired meanwhile.
    """
    order = _order.get()
    if order is None or order.log_transaction is connection:
        return
    if is_final and order.end_proposal is not None:
        await order.end_proposal(connection)
    connection.post(INSERT, order.row(OrderOutcome.DONE))
    if is_final:
        order.log_transaction = connection


class OperatorLog:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def write(
        self, order: LoggedOrder, outcome: OrderOutcome, detail: str | None = None
    ) -> None:
        """Write a row of an order without a transaction."""
        async with transaction(self._engine) as connection:
            if outcome is OrderOutcome.DONE and order.end_proposal is not None:
                await order.end_proposal(connection)
            connection.post(INSERT, order.row(outcome, detail))
            order.log_transaction = connection

    async def list_newest(self, *, before: int | None, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return the newest first.

        :param before: only rows with a lower id.
        """
        values = {"before": before, "limit": min(limit, LISTED_MAX)}
        return [_to_json(row) for row in await read_alone(self._engine, LIST, values)]


def without_secrets(value: Any) -> Any:
    """Return parameters as they may be logged: no secrets, of URLs the host alone."""
    if isinstance(value, dict):
        return {
            name.replace(NUL, "?"): HIDDEN
            if name.lower() in SECRET_NAMES
            else without_secrets(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(each) for each in value]
    if not isinstance(value, str):
        return value
    if value.startswith(SECRET_PREFIXES):
        return HIDDEN
    value = value.replace(NUL, "?")
    return _host_of(value) if value.lower().startswith(URL_SCHEMES) else value


def _host_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return HIDDEN
    return f"{parts.scheme}://{parts.hostname or ''}{port}/…"


def _to_json(row: Row) -> Mapping[str, Any]:
    return {
        **row._asdict(),
        "order_id": str(row.order_id),
        "at": row.at.isoformat(),
        "proposal_id": row.proposal_id and str(row.proposal_id),
    }
