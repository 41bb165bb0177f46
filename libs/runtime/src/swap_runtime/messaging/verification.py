"""Checks that a message from Kafka was sent by the service that owns its topic.

Anyone who can write to a topic, and a broker itself, can put any record there. Only the sender can
write its outbox: Postgres grants it to no other role. So a record counts only if the sender's
outbox has the row that its header names. Id, topic, key and payload must be the same.

The row is always visible to the consumer's statement, because the relay publishes committed rows
only and every connection is to the primary. After a failover to a replica that lost commits, the
lost messages are not in the outbox, and are rightly refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Final

from swap_runtime.messaging.records import Position, Record
from swap_runtime.postgres.database import Question
from swap_runtime.postgres.schema import FIRST_XID
from swap_runtime.postgres.sql import Rows, Statement, sql

# By the index of the sweep. A restored dump keeps ids and may rewrite each xid to the first one
# (`maintenance.py`). Postgres computes the digests, so that payloads are not transferred twice. The
# parts before the payload have a fixed length, so that no two messages share the digested bytes.
FIND_DIGESTS: Final = """
SELECT o.id, sha256(uuid_send(o.message_id) || sha256(o.key) || o.payload) AS digest
FROM {source}.outbox o
WHERE o.topic = :topic AND o.id = ANY(CAST(:ids AS bigint[]))
"""
WITH_XIDS: Final = " AND o.xid = ANY(CAST(CAST(:xids AS text[]) AS xid8[]))"


class UnverifiedMessages(Exception):
    """The sender's outbox does not hold some of these messages: nothing was done for any."""


class OutboxCheck:
    """Compares records of one topic with the outbox of the service that sends the topic.

    What the sweep read from the outbox itself is not compared again.
    """

    def __init__(self, source: str, topic: str, records: Sequence[Record]) -> None:
        self._source = source
        self._topic = topic
        self._records = [record for record in records if not record.is_from_outbox]

    @property
    def queries(self) -> Sequence[Question]:
        """Return what to ask Postgres: one question for the whole batch, or none."""
        if not self._records:
            return ()
        places = [place for record in self._records if (place := self._place(record)) is not None]
        xids = {str(place.xid) for place in places} | {FIRST_XID}
        values = {
            "topic": self._topic,
            "xids": sorted(xids),
            "ids": sorted({place.id for place in places}),
        }
        return ((find_digests(self._source), values),)

    def find_unverified(self, answers: Sequence[Rows]) -> Sequence[Record]:
        """Return the records that the answers to `queries` do not hold."""
        stored = {row.id: row.digest for rows in answers for row in rows}
        return [
            record
            for record in self._records
            if (place := self._place(record)) is None or stored.get(place.id) != digest_of(record)
        ]

    def _place(self, record: Record) -> Position | None:
        position = record.position
        return position if position is not None and position.source == self._source else None


@cache
def find_digests(source: str) -> Statement:
    """Return the statement that reads the digests of a sender's messages."""
    if not source.isidentifier():
        raise ValueError(f"not a schema: {source}")
    return sql(FIND_DIGESTS.format(source=source) + WITH_XIDS)


@cache
def find_digest(source: str) -> Statement:
    """Return the same for ids alone: it reads the topic's whole index, so only for operators."""
    if not source.isidentifier():
        raise ValueError(f"not a schema: {source}")
    return sql(FIND_DIGESTS.format(source=source))


def digest_of(record: Record) -> bytes | None:
    """Return what Postgres computes for the same message; None for a record without an id."""
    if record.message_id is None:
        return None
    return sha256(record.message_id.bytes + sha256(record.key).digest() + record.value).digest()
