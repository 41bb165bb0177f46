"""What an operator does with parked messages: look, release, drop."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.messaging.records import Position, Record
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_runtime.messaging.verification import OutboxCheck, UnverifiedMessages, find_digest
from swap_runtime.operators.admin_routes import AdminRoute
from swap_runtime.operators.operator_log import log_order
from swap_runtime.operators.paging import (
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_number,
    read_place,
    read_query_number,
)
from swap_runtime.postgres.database import Engine, read_alone, reading, transaction
from swap_runtime.postgres.sql import Row, sql

_LIST: Final = """
SELECT id, consumer, topic, key, value, partition, "offset", message_id, claimed_id, outbox_id,
       reason, is_behind, state, parked_at, ended_at
FROM parked
WHERE {is_wanted}
"""
_OF_LIST: Final = """
    AND (CAST(:topic AS text) IS NULL OR topic = :topic)
    AND (parked_at, id) > (coalesce(CAST(:after_at AS timestamptz), '-infinity'),
        CAST(:after_id AS bigint))
"""
_IN_ORDER: Final = " ORDER BY parked_at, id LIMIT :limit"
# Open rows have separate indexes.
LIST_STANDING: Final = sql(
    _LIST.format(is_wanted="state IN ('parked', 'releasing')")
    + _OF_LIST
    + "UNION ALL"
    + _LIST.format(is_wanted="state = 'unverified'")
    + _OF_LIST
    + _IN_ORDER
)
LIST: Final = sql(_LIST.format(is_wanted="state = :state") + _OF_LIST + _IN_ORDER)
FIND: Final = sql(_LIST.format(is_wanted="id = :id"))
FIND_UNVERIFIED: Final = sql("""
SELECT topic, key, value, partition, "offset", claimed_id, outbox_id FROM parked
WHERE id = :id AND state = 'unverified'
""")
# There is nothing to run: what the sender's outbox holds comes by the sweep.
END_UNVERIFIED: Final = sql("""
UPDATE parked SET state = 'released', ended_at = now() WHERE id = :id AND state = 'unverified'
RETURNING id
""")
# The sweep's leader runs it; whatever waits behind it follows by itself.
RELEASE: Final = sql(
    "UPDATE parked SET state = 'releasing' WHERE id = :id AND state = 'parked' RETURNING id"
)
DROP: Final = sql("""
UPDATE parked SET state = 'dropped', ended_at = now()
WHERE id = :id AND state IN ('parked', 'unverified') RETURNING id
""")
LIMIT: Final = 500
NOT_FOUND: Final = "no such parked message"
log = structlog.get_logger()


class ParkedRoutes:
    """`GET /admin/parked` and `…/{id}`, `POST /admin/parked/{id}/release` and `…/drop`."""

    def __init__(self, engine: Engine, *, sources: Mapping[str, str] = OUTBOX_SCHEMAS) -> None:
        self._engine = engine
        self._sources = sources

    def routes(self) -> tuple[AdminRoute, ...]:
        return (
            AdminRoute("GET", "/parked", self._list),
            AdminRoute("GET", "/parked/{id}", self._show),
            AdminRoute("POST", "/parked/{id}/release", self._release),
            AdminRoute("POST", "/parked/{id}/drop", self._drop),
        )

    async def list_parked(
        self,
        *,
        state: str | None,
        topic: str | None,
        after: tuple[datetime, int] | None = None,
        limit: int = LIMIT,
    ) -> list[dict[str, object]]:
        """Return the oldest first; only open ones unless a state is given.

        :param after: only what follows the message of this time and id.
        """
        after_at, after_id = after or (None, 0)
        place = {"after_at": after_at, "after_id": after_id}
        values = {"state": state, "topic": topic, **place, "limit": limit}
        statement = LIST_STANDING if state is None else LIST
        return [_to_json(row) for row in await read_alone(self._engine, statement, values)]

    async def find_parked(self, parked_id: int) -> dict[str, object] | None:
        """Return one message, whatever its state."""
        values = {"id": parked_id}
        row = (await read_alone(self._engine, FIND, values)).one_or_none()
        return None if row is None else _to_json(row)

    async def release(self, parked_id: int) -> bool:
        """Send it through its use case again soon; False where there is no such parked message.

        :raises UnverifiedMessages: when it came from Kafka and its sender's outbox still does not
            hold it.
        """
        return await self._change(RELEASE, parked_id, "release asked") or await self._check_again(
            parked_id
        )

    async def drop(self, parked_id: int) -> bool:
        """Give it up for good; False where there is no such parked message."""
        return await self._change(DROP, parked_id, "dropped")

    async def _check_again(self, parked_id: int) -> bool:
        async with reading(self._engine) as connection:
            row = (await connection.execute(FIND_UNVERIFIED, {"id": parked_id})).one_or_none()
            if row is None:
                return False
            source = self._sources[row.topic]
            check = OutboxCheck(source, row.topic, [_to_record(row, source)])
            # `parked` has no xid: the row is looked up by its id, whatever its transaction.
            values = {"topic": row.topic, "ids": [row.outbox_id]}
            found = await connection.execute(find_digest(source), values)
            if check.find_unverified([found]):
                raise UnverifiedMessages(f"not in the outbox of {source}")
        return await self._change(END_UNVERIFIED, parked_id, "left to the sweep")

    async def _change(self, statement: Any, parked_id: int, fact: str) -> bool:
        async with transaction(self._engine) as connection:
            changed = await connection.execute(statement, {"id": parked_id})
            if changed:
                await log_order(connection)
        if changed:
            log.warning(fact, parked_id=parked_id)
        return bool(changed)

    @answers_wrong_queries
    async def _list(self, request: Request) -> Response:
        query, limit = request.query_params, read_limit(request, largest=LIMIT)
        found = await self.list_parked(
            state=query.get("state"),
            topic=query.get("topic"),
            after=read_place(request, read_query_number),
            limit=limit + 1,
        )
        return answer_page("parked", found, limit=limit, show=dict, place=_place)

    async def _show(self, request: Request) -> Response:
        found = await self.find_parked(_id(request))
        if found is None:
            return JSONResponse({"error": NOT_FOUND}, status_code=404)
        return JSONResponse({"parked": found})

    async def _release(self, request: Request) -> Response:
        try:
            return _answer(await self.release(_id(request)))
        except UnverifiedMessages as error:
            return JSONResponse({"error": str(error)}, status_code=409)

    async def _drop(self, request: Request) -> Response:
        return _answer(await self.drop(_id(request)))


def _id(request: Request) -> int:
    """Return the id in the address; -1, which no message has, when it is none."""
    id = read_number(request.path_params["id"])
    return -1 if id is None else id


def _place(one: Mapping[str, object]) -> Mapping[str, str]:
    return {"after_at": str(one["parked_at"]), "after_id": str(one["id"])}


def _answer(is_done: bool) -> Response:  # noqa: FBT001
    if is_done:
        return JSONResponse({"accepted": True}, status_code=202)
    return JSONResponse({"error": NOT_FOUND}, status_code=404)


def _to_record(row: Row, source: str) -> Record:
    """Return the record as it came, with the place in the outbox that it claims."""
    position = None if row.outbox_id is None else Position(source, 0, row.outbox_id)
    return Record(
        row.topic, row.partition, row.offset, row.key, row.value, row.claimed_id, position
    )


def _to_json(row: Row) -> dict[str, object]:
    return {
        "id": row.id,
        "consumer": row.consumer,
        "topic": row.topic,
        "key": row.key.decode(errors="backslashreplace"),
        "value": row.value.decode(errors="backslashreplace"),
        "partition": row.partition,
        "offset": row.offset,
        "message_id": str(row.claimed_id or row.message_id),
        "reason": row.reason,
        "is_behind": row.is_behind,
        "state": row.state,
        "parked_at": row.parked_at.isoformat(),
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
    }
