"""Sends parked messages through their use case again, and those that waited behind them."""

from __future__ import annotations

from typing import Any, Final

import structlog

from swap_runtime.errors import Unavailable
from swap_runtime.messaging.consumer import Consumer
from swap_runtime.postgres.database import Engine, execute_alone
from swap_runtime.postgres.sql import Row, sql

# The first open one of each key. It may run when an operator released it, or when it only waited
# behind one that has ended. Marks are found by columns of the parked rows. A condition on the
# consumer alone might scan all of its marks.
RUNNABLE: Final = sql("""
WITH first AS (
  SELECT DISTINCT ON (key) id, key, state, is_behind FROM parked
  WHERE consumer = :consumer AND topic = :topic AND state IN ('parked', 'releasing')
  ORDER BY key, id
), taken AS (
  UPDATE parked p SET state = 'releasing'
  FROM first WHERE p.id = first.id AND (first.state = 'releasing' OR first.is_behind)
  RETURNING p.id, p.consumer, p.message_id, p.value
), fresh AS (
  UPDATE inbox i SET state = 'released' FROM taken
  WHERE i.consumer = taken.consumer AND i.message_id = taken.message_id AND i.state = 'parked'
)
SELECT id, message_id, value FROM taken ORDER BY id
""")
# The use case has marked it done by now, unless it had nothing to do with the message.
END: Final = sql("""
WITH ended AS (
  UPDATE parked SET state = 'released', ended_at = now() WHERE id = :id
  RETURNING consumer, message_id
)
UPDATE inbox i SET state = 'done' FROM ended
WHERE i.consumer = ended.consumer AND i.message_id = ended.message_id AND i.state = 'released'
""")
PARK_AGAIN: Final = sql("""
WITH again AS (
  UPDATE parked SET state = 'parked', is_behind = false, reason = :reason
  WHERE id = :id RETURNING consumer, message_id
)
UPDATE inbox i SET state = 'parked' FROM again
WHERE i.consumer = again.consumer AND i.message_id = again.message_id AND i.state = 'released'
""")
log = structlog.get_logger()


class Releasing:
    """The way back from the parking of one consumer. The sweep's leader goes it."""

    def __init__(self, engine: Engine, consumer: Consumer[Any]) -> None:
        self._engine = engine
        self._consumer = consumer
        self._values = {"consumer": consumer.group, "topic": consumer.topic.name}

    async def __call__(self) -> bool:
        """Try each key's first message that may run; True when there was one.

        :raises Unavailable: when it could not be tried; it stays released and is tried again.
        """
        rows = await execute_alone(self._engine, RUNNABLE, self._values)
        for row in rows:
            await self._run(row)
        return bool(rows)

    async def _run(self, row: Row) -> None:
        values: dict[str, object] = {"id": row.id}
        statement = END
        try:
            await self._consumer.handle_alone(row.value)
        except Unavailable:
            raise
        except Exception as error:
            statement = PARK_AGAIN
            values["reason"] = f"{type(error).__name__}: {error}"[:2000]
            log.warning(
                "message parked again", message_id=str(row.message_id), reason=values["reason"]
            )
        else:
            log.info("parked message released", message_id=str(row.message_id))
        await execute_alone(self._engine, statement, values)
