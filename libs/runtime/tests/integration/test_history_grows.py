"""Relay, consumers, parking and sweeps read no more rows as outboxes and inboxes grow."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

import pytest

from swap_runtime.messaging import (
    inbox,
    outbox,
    parked_routes,
    parking,
    quarantine,
    relay,
    releasing,
    sweep,
    verification,
    watermark,
)
from swap_runtime.postgres import leases, maintenance
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import Statement, sql
from tests.plugins.plans import History, Question, Readers

pytestmark = pytest.mark.connected

SENT: Final = 5000
READ: Final = SENT - 5
TABLES: Final = "outbox, inbox, parked, watermark, lease"
# All messages are published and read, except for the last five.
FILL: Final = (
    f"""
INSERT INTO outbox (id, xid, message_id, topic, key, payload, published_at)
OVERRIDING SYSTEM VALUE
SELECT n, '3', lpad(to_hex(n), 32, '0')::uuid, 'topic', 'key', 'payload',
       CASE WHEN n <= {READ} THEN now() END
FROM generate_series(1, {SENT}) AS n
""",
    f"""
INSERT INTO inbox (consumer, message_id)
SELECT 'consumer', lpad(to_hex(n), 32, '0')::uuid FROM generate_series(1, {READ}) AS n
""",
    f"""
INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id, reason,
                    is_behind, state)
SELECT 'consumer', 'topic', ('key' || n)::bytea, 'value', 0, n, lpad(to_hex(n), 32, '0')::uuid,
       'reason', false, CASE WHEN n <= {READ} THEN 'released' ELSE 'releasing' END
FROM generate_series(1, {SENT}) AS n
""",
    """
INSERT INTO watermark (consumer, source, topic, xid, id)
VALUES ('consumer', 'settler', 'topic', '3', 4995)
""",
)
OF: Final = {"consumer": "consumer", "topic": "topic"}
IDS: Final = [UUID(int=n) for n in (2000, 2001, 2500, 3001, 4999)]
PLACE: Final = {**OF, "xid": "3", "id": READ}


def of_source(template: str) -> Statement:
    return sql(template.format(source="settler"))


QUESTIONS: Final = {
    "outbox.ADD": Question(
        outbox.ADD,
        {
            "message_id": IDS,
            "topic": ["topic"] * 5,
            "key": [b"key"] * 5,
            "payload": [b"payload"] * 5,
        },
    ),
    "relay.NEXT_BATCH": Question(relay.NEXT_BATCH, {"limit": 1000}),
    "relay.MARK_PUBLISHED": Question(
        relay.MARK_PUBLISHED, {"ids": list(range(READ + 1, SENT + 1))}, at_most=150
    ),
    "inbox.MARK_SEEN": Question(inbox.MARK_SEEN, {"consumer": "consumer", "ids": IDS}),
    "watermark.FIND_WATERMARK": Question(watermark.FIND_WATERMARK, {**OF, "source": "settler"}),
    "verification.FIND_DIGESTS": Question(
        verification.find_digests("settler"),
        {"topic": "topic", "xids": ["3", "700"], "ids": [2000, 2001, 2500, 4999]},
    ),
    "quarantine.STORE": Question(
        quarantine.STORE,
        {
            **OF,
            "key": [b"key2000"],
            "value": [b"value"],
            "partition": [0],
            "place": [1],
            "name": [UUID(int=SENT + 2)],
            "claimed_id": [None],
            "outbox_id": [None],
            "reason": "reason",
            "at_most": quarantine.STORED_MAX,
        },
    ),
    "sweep.ADD_WATERMARK": Question(sweep.ADD_WATERMARK, {**OF, "source": "settler"}),
    "sweep.ADVANCE": Question(
        of_source(sweep.ADVANCE), {**PLACE, "source": "settler", "limit": sweep.ADVANCE_LIMIT}
    ),
    "sweep.IS_OVERDUE": Question(
        of_source(sweep.IS_OVERDUE), {**PLACE, "overdue": timedelta(minutes=1)}
    ),
    "sweep.MISSING": Question(of_source(sweep.MISSING), {**PLACE, "limit": sweep.BATCH_SIZE}),
    "parking.PARK": Question(
        parking.PARK,
        {
            **OF,
            "key": b"key2000",
            "value": b"value",
            "partition": 0,
            "offset": 1,
            "message_id": UUID(int=SENT + 1),
            "reason": "reason",
            "is_behind": False,
        },
    ),
    "parking.HELD": Question(parking.HELD, {**OF, "keys": [b"key2000", b"key4999"]}),
    "releasing.RUNNABLE": Question(releasing.RUNNABLE, OF, at_most=200),
    "releasing.END": Question(releasing.END, {"id": SENT}),
    "releasing.PARK_AGAIN": Question(
        releasing.PARK_AGAIN, {"id": SENT, "reason": "reason"}
    ),
    "parked_routes.LIST_STANDING": Question(
        parked_routes.LIST_STANDING,
        {"topic": None, "after_at": None, "after_id": 0, "limit": parked_routes.LIMIT},
    ),
    "parked_routes.FIND_UNVERIFIED": Question(parked_routes.FIND_UNVERIFIED, {"id": SENT}),
    "parked_routes.END_UNVERIFIED": Question(parked_routes.END_UNVERIFIED, {"id": SENT}),
    "parked_routes.RELEASE": Question(parked_routes.RELEASE, {"id": SENT}),
    "parked_routes.DROP": Question(parked_routes.DROP, {"id": SENT}),
    "leases.HOLD": Question(
        leases.HOLD, {"name": "name", "holder": "holder", "term": leases.TERM}
    ),
    # Planning reads the indexes of every day's partition.
    "maintenance.STATE": Question(maintenance.STATE, at_most=100),
    "maintenance.OLDEST_UNREAD": Question(
        of_source(maintenance.OLDEST_UNREAD),
        {"topic": "topic", "xid": "3", "id": READ},
        at_most=100,
    ),
}  # fmt: skip


async def test_every_statement_reads_only_the_rows_of_its_result(
    readers: Readers, engine: Engine
) -> None:
    assert await readers.among(QUESTIONS, History(engine, TABLES, FILL)) == {}
