"""A message acts once: its mark commits with its effect.

Marks go when the sweep's watermark has passed them: what is at or below the watermark is a
duplicate without being looked up (`consumer.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from swap_runtime.messaging.parking import current_batch_check
from swap_runtime.postgres.database import Connection, Question
from swap_runtime.postgres.sql import Rows, sql

# Sorted, so that two batches with the same messages wait for each other instead of deadlocking. A
# parked message that an operator released is handled once more.
MARK_SEEN: Final = sql("""
INSERT INTO inbox AS seen (consumer, message_id)
SELECT :consumer, id FROM (SELECT DISTINCT unnest(CAST(:ids AS uuid[])) AS id) AS new ORDER BY id
ON CONFLICT (consumer, message_id) DO UPDATE SET state = 'done' WHERE seen.state = 'released'
RETURNING message_id
""")


async def mark_seen(
    connection: Connection, consumer: str, message_ids: Sequence[UUID]
) -> frozenset[UUID]:
    """Mark the messages in this transaction and return those that were not marked before.

    :raises UnverifiedMessages: when the sender's outbox does not hold one of the messages.
    :raises Behind: when something is parked that has to come first.
    """
    fresh, _ = await mark_and_ask(connection, consumer, message_ids)
    return fresh


async def mark_and_ask(
    connection: Connection, consumer: str, message_ids: Sequence[UUID], *questions: Question
) -> tuple[frozenset[UUID], Sequence[Rows]]:
    """Mark as `mark_seen` does, and ask more in the same round trip, in this order.

    It waits for a concurrent mark of the same messages, which may park them. So what is parked is
    looked for after the marking.

    :raises UnverifiedMessages: when the sender's outbox does not hold one of the messages.
    :raises Behind: when something is parked that has to come first.
    """
    mark = (MARK_SEEN, {"consumer": consumer, "ids": list(message_ids)})
    check = current_batch_check()
    if check is None:
        marked, *answers = await connection.ask(mark, *questions)
    else:
        size = len(check.queries)
        marked, *answers = await connection.ask(mark, *check.queries, *questions)
        check.verify(answers[:size])
        answers = answers[size:]
    return frozenset(row.message_id for row in marked), answers
