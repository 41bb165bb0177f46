"""What an operator does with parked messages: look, release, drop."""

from __future__ import annotations

from typing import Any, Final

import structlog
from aiohttp import web

from swap_runtime.database import Engine, execute_alone, reading
from swap_runtime.internal import AdminRoute
from swap_runtime.sql import Row, sql

_LIST: Final = """
SELECT id, consumer, topic, key, value, partition, "offset", message_id, reason, is_behind, state,
       parked_at, ended_at
FROM parked
WHERE {is_wanted} AND (CAST(:topic AS text) IS NULL OR topic = :topic)
ORDER BY id LIMIT :limit
"""
# What still stands has an index of its own.
LIST_STANDING: Final = sql(_LIST.format(is_wanted="state IN ('parked', 'releasing')"))
LIST: Final = sql(_LIST.format(is_wanted="state = :state"))
# The sweep's leader runs it; whatever waits behind it follows by itself.
RELEASE: Final = sql(
    "UPDATE parked SET state = 'releasing' WHERE id = :id AND state = 'parked' RETURNING id"
)
DROP: Final = sql("""
UPDATE parked SET state = 'dropped', ended_at = now() WHERE id = :id AND state = 'parked'
RETURNING id
""")
LIMIT: Final = 500
log = structlog.get_logger()


class ParkedRoutes:
    """`GET /admin/parked`, `POST /admin/parked/{id}/release` and `…/drop`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def routes(self) -> tuple[AdminRoute, ...]:
        return (
            AdminRoute("GET", "/parked", self._list),
            AdminRoute("POST", "/parked/{id}/release", self._release),
            AdminRoute("POST", "/parked/{id}/drop", self._drop),
        )

    async def list_parked(self, *, state: str | None, topic: str | None) -> list[dict[str, object]]:
        """Return the oldest first; those that still stand unless a state is asked for."""
        values = {"state": state, "topic": topic, "limit": LIMIT}
        statement = LIST_STANDING if state is None else LIST
        async with reading(self._engine) as connection:
            return [_shown(row) for row in await connection.execute(statement, values)]

    async def release(self, parked_id: int) -> bool:
        """Send it through its use case again soon; False where there is no such parked message."""
        return await self._change(RELEASE, parked_id, "release asked")

    async def drop(self, parked_id: int) -> bool:
        """Give it up for good; False where there is no such parked message."""
        return await self._change(DROP, parked_id, "dropped")

    async def _change(self, statement: Any, parked_id: int, fact: str) -> bool:
        changed = await execute_alone(self._engine, statement, {"id": parked_id})
        if changed:
            log.warning(fact, parked_id=parked_id)
        return bool(changed)

    async def _list(self, request: web.Request) -> web.Response:
        asked = request.query
        parked = await self.list_parked(state=asked.get("state"), topic=asked.get("topic"))
        return web.json_response({"parked": parked})

    async def _release(self, request: web.Request) -> web.Response:
        return _told(await self.release(_id(request)))

    async def _drop(self, request: web.Request) -> web.Response:
        return _told(await self.drop(_id(request)))


def _id(request: web.Request) -> int:
    given = request.match_info["id"]
    return int(given) if given.isascii() and given.isdecimal() else -1


def _told(is_done: bool) -> web.Response:  # noqa: FBT001
    if is_done:
        return web.json_response({"accepted": True}, status=202)
    return web.json_response({"error": "no such parked message"}, status=404)


def _shown(row: Row) -> dict[str, object]:
    return {
        "id": row.id,
        "consumer": row.consumer,
        "topic": row.topic,
        "key": row.key.decode(errors="backslashreplace"),
        "value": row.value.decode(errors="backslashreplace"),
        "partition": row.partition,
        "offset": row.offset,
        "message_id": str(row.message_id),
        "reason": row.reason,
        "is_behind": row.is_behind,
        "state": row.state,
        "parked_at": row.parked_at.isoformat(),
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
    }
