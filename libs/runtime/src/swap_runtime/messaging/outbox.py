"""Messages leave with the transaction that decided them, or not at all.

A use case adds rows in its own transaction; the relay publishes them. A crash between
publishing and marking publishes a row again; the consumer's inbox drops the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_contracts.envelope import Body, Envelope, Topic, render_json
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Transaction
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry import tracing

OUTBOX: Final = "outbox"  # what the relay waits for
# The use case holds the row lock of the thing the key names, so ids of one key are in commit order.
ADD: Final = sql("""
INSERT INTO outbox (message_id, topic, key, payload)
SELECT message_id, topic, key, payload
FROM unnest(CAST(:message_id AS uuid[]), CAST(:topic AS text[]), CAST(:key AS bytea[]),
            CAST(:payload AS bytea[]))
     WITH ORDINALITY AS new(message_id, topic, key, payload, n) ORDER BY n
""")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to be sent, already in bytes."""

    message_id: UUID
    topic: str
    key: bytes
    payload: bytes
    # For spans: the trace of the message that caused it, and whether it has no cause in the
    # service.
    caused_by: str | None = None
    begins_trace: bool = False

    @classmethod
    def of(cls, topic: Topic[Body], envelope: Envelope[Body]) -> Outgoing:
        """Render the envelope as it will be on the topic."""
        return cls(
            envelope.message_id,
            topic.name,
            envelope.key.encode(),
            envelope.model_dump_json().encode(),
        )

    @classmethod
    def from_body(
        cls, topic: Topic[Body], body: Body, *, version: int | str, trace_id: str, at: datetime
    ) -> Outgoing:
        """Frame and render a body that we made: the same bytes as `seal` and `of` give.

        Without a look at every member again, which is most of what those two cost.
        """
        key = topic.key(body)
        message_id = topic.message_id(key, version)
        envelope = {
            "message_id": message_id,
            "type": type(body).__name__,
            "key": key,
            "occurred_at": at,
            "trace_id": trace_id,
            "body": body,
        }
        return cls(message_id, topic.name, key.encode(), render_json(envelope))


def add_to_outbox(connection: Transaction, outgoing: Sequence[Outgoing]) -> None:
    """Add the messages, in this order, to the transaction; its next query sends the INSERT."""
    if outgoing:
        rows = [
            {"message_id": o.message_id, "topic": o.topic, "key": o.key, "payload": o.payload}
            for o in outgoing
        ]
        connection.post(ADD, columns(rows))
        connection.wake(OUTBOX)
        if tracing.is_on():
            tracing.messages_created(outgoing)
