"""Messages as an operator sees them, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from swap_notifier.adapters import statements
from swap_notifier.domain.events import TEST
from swap_notifier.domain.listing import MessagePage, Place, Window
from swap_notifier.domain.queue import QueueState
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, execute_alone, read_alone, reading, transaction
from swap_runtime.postgres.sql import Row, Statement

COUNTED_MAX: Final = 10_000


class PostgresMessages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_of_swap(
        self, swap_id: UUID, *, app_id: UUID | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Return a swap's messages, oldest first, each with its attempts.

        :param app_id: their app; None for an operator.
        """
        values = {"swap_id": swap_id, "app_id": app_id}
        rows = await read_alone(self._engine, statements.MESSAGES_OF_SWAP, values)
        return [row._asdict() for row in rows]

    async def list_of_endpoint(
        self,
        endpoint_id: UUID,
        window: Window,
        *,
        since: datetime,
        until: datetime | None = None,
        undelivered_only: bool,
        delivered_only: bool = False,
        oldest_first: bool = False,
    ) -> MessagePage | None:
        """Return what waits for it, by when it is due, then what ended since, newest end first.

        None for an unknown endpoint.

        :param until: only what ended before then; what waits is left out.
        :param oldest_first: return what ended since alone, oldest end first.
        """
        count = (
            statements.COUNT_ENDED_OF_ENDPOINT
            if oldest_first
            else statements.COUNT_MESSAGES_OF_ENDPOINT
        )
        values = {
            "endpoint_id": endpoint_id,
            "since": since,
            "until": until,
            "undelivered_only": undelivered_only,
            "delivered_only": delivered_only,
        }
        listing, bounds = _listing_of(window, oldest_first=oldest_first)
        async with reading(self._engine) as connection:
            endpoint, rows, [(total,)] = await connection.ask(
                (statements.ENDPOINT, {"id": endpoint_id}),
                (listing, {**values, **bounds}),
                (count, {**values, "reach": COUNTED_MAX}),
            )
        if not endpoint:
            return None
        shown = rows[: window.limit]
        has_more = len(rows) > window.limit
        return MessagePage(
            [row._asdict() for row in shown],
            int(total),
            has_more=has_more,
            next=_place_of(shown[-1]).to_text() if has_more else None,
        )

    async def count(self, app_id: UUID, *, since: datetime) -> Sequence[Mapping[str, Any]]:
        """Return for each endpoint of an app how many messages got through since then."""
        values = {"app_id": app_id, "since": since}
        async with reading(self._engine) as connection:
            rows, by_hour = await connection.ask(
                (statements.FIGURES, values), (statements.FIGURES_BY_HOUR, values)
            )
        hours: dict[UUID, list[Mapping[str, Any]]] = {row.endpoint_id: [] for row in rows}
        for row in by_hour:
            figures = {"delivered": row.delivered, "undelivered": row.undelivered}
            hours.setdefault(row.endpoint_id, []).append({"hour": row.hour, **figures})
        return [{**row._asdict(), "since": since, "hours": hours[row.endpoint_id]} for row in rows]

    async def find(self, message_id: str) -> Mapping[str, Any] | None:
        """Return one with its body and its latest attempts: headers and bodies of both sides."""
        rows = await read_alone(self._engine, statements.MESSAGE, {"id": message_id})
        row = rows.one_or_none()
        return None if row is None else row._asdict()

    async def add_test(
        self, endpoint_id: UUID, *, message_id: str, body: bytes, at: datetime
    ) -> bool:
        """Add a message about no swap, if the endpoint is enabled."""
        values = {
            "id": endpoint_id,
            "message_id": message_id,
            "event_type": TEST,
            "body": body,
            "at": at,
        }
        async with transaction(self._engine) as connection:
            added = await connection.scalar(statements.ADD_TEST, values)
            if added is not None:
                await log_order(connection)
            connection.wake(statements.MESSAGES_DUE)
            return added is not None

    async def replay_since(
        self,
        endpoint_id: UUID,
        *,
        since: datetime,
        undelivered_only: bool,
        at: datetime,
        limit: int,
    ) -> int | None:
        """Make due again some of what was made since and ended before `at`; return how many.

        None when the endpoint is unknown, disabled or a listener.
        """
        values = {
            "endpoint_id": endpoint_id,
            "since": since,
            "undelivered_only": undelivered_only,
            "at": at,
            "limit": limit,
        }
        async with transaction(self._engine) as connection:
            if not await connection.scalar(statements.IS_SENT_TO, {"id": endpoint_id}):
                return None
            due_count = await connection.scalars(statements.REPLAY_SINCE, values)
            await log_order(connection)
            connection.wake(statements.MESSAGES_DUE)
            return len(due_count)

    async def replay(self, message_id: str, *, at: datetime) -> bool:
        """Make it due again if its endpoint is enabled."""
        async with transaction(self._engine) as connection:
            values = {"id": message_id, "at": at}
            found = await connection.scalar(statements.REPLAY, values)
            if found is not None:
                await log_order(connection)
            connection.wake(statements.MESSAGES_DUE)
            return found is not None

    async def queue_state(self, *, at: datetime) -> QueueState:
        """Return how late the first due delivery is, and which endpoints fail. Locks nothing."""
        async with reading(self._engine) as connection:
            [(overdue_since,)], [failing] = await connection.ask(
                (statements.OVERDUE_SINCE, {"at": at}), (statements.FAILING, {})
            )
        return QueueState(
            overdue=_since(overdue_since, at=at),
            failing_endpoints=failing.endpoints,
            failing_for=_since(failing.since, at=at),
        )

    async def discard(self, *, at: datetime) -> int:
        """End what waits for disabled endpoints and is not under way; return how many."""
        return len(await execute_alone(self._engine, statements.DISCARD, {"at": at}))

    async def forget(self, *, before: datetime, limit: int) -> int:
        """Delete what ended before then, at most so many; return how many."""
        values = {"before": before, "limit": limit}
        return len(await execute_alone(self._engine, statements.FORGET, values))


def _since(moment: datetime | None, *, at: datetime) -> timedelta:
    return timedelta(0) if moment is None else max(at - moment, timedelta(0))


def _listing_of(window: Window, *, oldest_first: bool) -> tuple[Statement, dict[str, Any]]:
    """Return the statement of a part with its bounds; one row more shows whether more follows."""
    one_more = window.limit + 1
    place = window.after
    if place is None:
        bounds = {"limit": one_more, "offset": window.offset, "reach": window.offset + one_more}
        return (
            statements.ENDED_OF_ENDPOINT if oldest_first else statements.MESSAGES_OF_ENDPOINT
        ), bounds
    behind = {"limit": one_more, "place_ended_at": place.ended_at, "place_id": place.id}
    if oldest_first:
        return statements.ENDED_BEHIND, {**behind, "place_sequence": place.sequence}
    return statements.MESSAGES_BEHIND, {**behind, "place_due_at": place.due_at}


def _place_of(row: Row) -> Place:
    return Place(row.ended_at, row.due_at, row.sequence, row.id)
