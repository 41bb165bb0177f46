"""The messages between services about one swap, read from their outboxes as the auditor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import orjson
import psycopg

SOURCES = ("api", "chain_watcher", "settler")

# Keys are the swap's id, its deposits' and, with the network before it, what its payouts are
# called on chain. Days before the swap have nothing of it and are not read.
TRAIL: LiteralString = """
WITH wanted AS (
  SELECT %(swap)s::text AS key
  UNION ALL SELECT id::text FROM settler.deposit WHERE swap_id = %(swap)s::uuid
  UNION ALL SELECT network || '/' || paid_id FROM settler.intent WHERE swap_id = %(swap)s::uuid
), sent AS (
  SELECT 'api' AS source, * FROM api.outbox WHERE created_at >= %(since)s
  UNION ALL SELECT 'chain_watcher', * FROM chain_watcher.outbox WHERE created_at >= %(since)s
  UNION ALL SELECT 'settler', * FROM settler.outbox WHERE created_at >= %(since)s
)
SELECT source, topic, message_id, created_at, published_at, payload
FROM sent JOIN wanted ON wanted.key = convert_from(sent.key, 'UTF8')
ORDER BY created_at, xid, id
"""


@dataclass(frozen=True, slots=True)
class TrailMessage:
    """One message of the swap's trail."""

    source: str
    topic: str
    message_id: str
    created_at: datetime
    published_at: datetime | None
    body: dict[str, Any]

    @property
    def summary(self) -> str:
        """Summarize its new content."""
        body = self.body
        if "status" in body:
            sent = (f"{t['type']} {t['status']}" for t in body["transactions"])
            return ", ".join([f"#{body['sequence']} {body['status']}", *sent])
        if "state" in body:
            return f"{body['state']} in block {body['block_number']} of {body['network']}"
        return str(body.get("type", ""))


async def read_trail(auditor_url: str, swap_id: str, since: datetime) -> tuple[TrailMessage, ...]:
    """Return every message about a swap, in the order they were committed."""
    async with await psycopg.AsyncConnection.connect(auditor_url) as connection:
        found = await connection.execute(TRAIL, {"swap": swap_id, "since": since})
        rows = await found.fetchall()
        return tuple(
            TrailMessage(
                source=source,
                topic=topic,
                message_id=str(message_id),
                created_at=created_at,
                published_at=published_at,
                body=orjson.loads(payload)["body"],
            )
            for source, topic, message_id, created_at, published_at, payload in rows
        )
