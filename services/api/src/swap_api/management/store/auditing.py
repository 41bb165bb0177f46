"""Changes that are written down, and lists by parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import ColumnElement, Select, Uuid, bindparam, cast, literal_column, or_
from sqlmodel import SQLModel

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Window
from swap_api.model.members import Actor
from swap_api.model.refusals import ApiRefusal, NotFound
from swap_contracts.public.errors import ErrorCode
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, Transaction, read_alone, reading, transaction
from swap_runtime.postgres.models import read_row, statement_of, text_of
from swap_runtime.postgres.sql import Row, Rows, Statement, sql

COUNTED_MAX: Final = 10_000
# Changes of one organization or its members are serialized here, before any
# member's row is held. Rows that refer to the organization need not wait.
LOCK_ORGANIZATION: Final = sql("SELECT id FROM partner WHERE id = :id FOR NO KEY UPDATE")
# Who is removed or gets another role meanwhile waits until the change is made, or is seen here.
HOLD_ROLE: Final = sql("""
SELECT id FROM member WHERE id = :id AND removed_at IS NULL AND role = :role FOR SHARE
""")


class AuditedStatement(NamedTuple):
    """A statement that makes a change and writes it into the log, and what it returns."""

    facts: type[SQLModel]
    action: str  # its name in the log
    statement: Statement


def audited_statement(facts: type[SQLModel], action: str, change: str) -> AuditedStatement:
    """Return a statement that makes a change and writes it into the log, or does neither.

    :param change: what returns the `id` and the `partner_id` of what it changed, and its facts.
    """
    statement = sql(f"""
WITH changed AS ({change}), written AS (
  INSERT INTO audit_entry
    (partner_id, at, actor, member_id, request_id, action, subject_id, details)
  SELECT changed.partner_id, CAST(:at AS timestamptz), CAST(:actor_name AS text),
         CAST(:actor_id AS uuid), CAST(:request_id AS text), CAST(:action AS text), changed.id,
         CAST(CAST(:details AS text) AS jsonb)
  FROM changed)
SELECT * FROM changed
""")
    return AuditedStatement(facts, action, statement)


@dataclass(frozen=True, slots=True)
class AuditedTransaction:
    """A transaction with changes by one actor, all written into the log as of one moment."""

    connection: Transaction
    actor: Actor
    at: datetime

    async def change(
        self, statement: AuditedStatement, values: Mapping[str, Any], details: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run a statement if the actor still may, and return the facts of what it changed.

        :raises NotFound: when it changed nothing.
        :raises ApiRefusal: when the actor was removed, or got another role, since the request came.
        """
        await self.require_current_role()
        return await self.record(statement, values, details)

    async def record(
        self, statement: AuditedStatement, values: Mapping[str, Any], details: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run a statement without a check of the actor.

        :raises NotFound: when it changed nothing.
        """
        row = (await self.record_all(statement, values, details)).one_or_none()
        if row is None:
            raise NotFound
        return facts_by_name(read_row(statement.facts, row))

    async def record_all(
        self, statement: AuditedStatement, values: Mapping[str, Any], details: Mapping[str, Any]
    ) -> Rows:
        """Run a statement that may change several rows, or none: a line for each of them."""
        written = {
            "at": self.at,
            "scope": self.actor.organization_id,
            "actor_name": self.actor.name,
            "actor_id": self.actor.member_id,
            "request_id": self.actor.request_id,
            "action": statement.action,
            "details": orjson.dumps(dict(details)).decode(),
        }
        rows = await self.connection.execute(statement.statement, {**values, **written})
        await log_order(self.connection)  # nothing, where a member changed it
        return rows

    async def require_current_role(self) -> None:
        """Hold the actor's row as it was when the request came.

        :raises ApiRefusal: when it is another one by now.
        """
        if self.actor.is_operator:
            return
        known = {"id": self.actor.member_id, "role": self.actor.role.value}
        if not await self.connection.execute(HOLD_ROLE, known):
            raise ApiRefusal(
                ErrorCode.ACCESS_TOKEN_FORBIDDEN,
                "The access token's member is gone, or has another role since this was asked",
            )

    async def enforce_bound(
        self,
        bound: Bound | None,
        count: Statement,
        values: Mapping[str, Any],
        *,
        lock: Statement,
        beyond: int = 0,
    ) -> None:
        """Serialize additions by a lock, and count the existing rows.

        :param lock: holds the row below which they are counted, and is given the same values.
        :raises ApiRefusal: when the limit is reached.
        """
        if bound is None:
            return
        self.connection.post(lock, values)
        bound.require(await self.connection.scalar(count, values), beyond=beyond)


class AuditedStore:
    """What the stores of organizations, members and keys have in common."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def _changes(self, actor: Actor, at: datetime) -> AsyncIterator[AuditedTransaction]:
        async with transaction(self._engine) as connection:
            yield AuditedTransaction(connection, actor, at)

    async def _change(
        self,
        statement: AuditedStatement,
        values: Mapping[str, Any],
        details: Mapping[str, Any],
        actor: Actor,
        at: datetime,
    ) -> dict[str, Any]:
        """Make one change, in a transaction of its own."""
        async with self._changes(actor, at) as changes:
            return await changes.change(statement, values, details)

    async def _find(self, statement: Statement, wanted: UUID, actor: Actor, **values: Any) -> Row:
        """Return the row with an id, of what the actor may see.

        :raises NotFound: when there is none.
        """
        scoped = {"id": wanted, "scope": actor.organization_id, **values}
        row = (await read_alone(self._engine, statement, scoped)).one_or_none()
        if row is None:
            raise NotFound
        return row


def facts_by_name(facts: SQLModel) -> dict[str, Any]:
    """Return facts by name, their organization by that name."""
    content = facts.model_dump()
    if "partner_id" in content:
        content["organization_id"] = content.pop("partner_id")
    return content


def within(organization_id: Any) -> ColumnElement[bool]:
    """Return the condition that a row is of the actor's organization, by the value `scope`.

    Without an organization, an operator sees all of them.
    """
    scope = cast(bindparam("scope"), Uuid())
    return or_(scope.is_(None), organization_id == scope)


def within_text(column: str) -> str:
    """Return the same condition as part of a statement that is written by hand."""
    return f"({text_of(within(literal_column(column)))})"


class Listing(NamedTuple):
    """A list by parts, and how long it is."""

    facts: type[SQLModel]
    rows: Statement
    total: Statement
    rows_after: Statement | None = None  # a part after a row costs the same at any depth

    @classmethod
    def of(
        cls,
        facts: type[SQLModel],
        query: Select[Any],
        *,
        after: ColumnElement[bool] | None = None,
    ) -> Listing:
        """Return the list of a query's rows.

        :param query: selects the columns of `facts`, in the order of the list.
        :param after: whether a row comes after the one that `starting_after` names.
        """
        part = query.limit(bindparam("limit")).offset(bindparam("offset"))
        counted: Select[Any] = query.order_by(None).with_only_columns(literal_column("1"))
        text = f"SELECT count(*) FROM ({text_of(counted)} LIMIT {COUNTED_MAX}) AS counted"
        if after is None:
            return cls(facts, statement_of(part), sql(text))
        rows_after = query.where(after).limit(bindparam("limit"))
        return cls(facts, statement_of(part), sql(text), statement_of(rows_after))

    async def part(self, engine: Engine, values: Mapping[str, Any], window: Window) -> Part:
        async with reading(engine) as connection:
            # One row more shows whether another part follows.
            bounds: dict[str, Any] = {"limit": window.limit + 1, "offset": window.offset}
            statement = self.rows
            if self.rows_after is not None and window.starting_after is not None:
                statement = self.rows_after
                bounds = {"limit": window.limit + 1, "starting_after": window.starting_after}
            rows, [(total,)] = await connection.ask(
                (statement, {**values, **bounds}), (self.total, values)
            )
        listed = [facts_by_name(read_row(self.facts, row)) for row in rows]
        return Part(listed[: window.limit], int(total), has_more=len(listed) > window.limit)
