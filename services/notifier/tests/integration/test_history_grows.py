"""The cost of the notifier's statements does not grow with delivered messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest

from swap_notifier.adapters import statements
from swap_runtime.postgres.database import Engine
from tests.plugins.plans import History, Question, Readers

pytestmark = pytest.mark.connected

MESSAGES: Final = 4000
ENDPOINTS: Final = 10_000
WAITING: Final = 5
TABLES: Final = "endpoint, webhook_message, delivery_attempt"
NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)
# Each app has an endpoint; the first has most of the messages, the other endpoints one each.
# One more is disabled, and one more was removed.
FILL: Final = (
    f"""
INSERT INTO endpoint (id, app_id, url, environment, wants_updates, wants_notices, secret,
                      created_at, enabled_from, disabled_at, disabled_reason, removed_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 'http://a.example', 'live',
       true, true, 'secret', '2029-01-01Z', '2029-01-01Z',
       CASE WHEN n > {ENDPOINTS} THEN '2029-12-31Z'::timestamptz END,
       CASE WHEN n > {ENDPOINTS} THEN 'owner' END,
       CASE WHEN n > {ENDPOINTS} + 1 THEN '2029-12-31Z'::timestamptz END
FROM generate_series(1, {ENDPOINTS} + 2) AS n
""",
    f"""
INSERT INTO webhook_message (id, swap_id, endpoint_id, sequence, app_id, event_type, body, state,
                             attempts, due_at, claim, created_at, ended_at)
SELECT 'msg_' || n, lpad(to_hex(n), 32, '0')::uuid, of, 1, of, 'swap.updated', 'body',
       CASE WHEN is_waiting THEN 'waiting' ELSE 'delivered' END, 1, '2029-12-31Z', of,
       '2029-12-31Z'::timestamptz + n * interval '1 s',
       CASE WHEN NOT is_waiting THEN '2029-12-31Z'::timestamptz + n * interval '1 s' END
FROM generate_series(1, {MESSAGES} + {ENDPOINTS} + 2) AS n CROSS JOIN LATERAL (
  SELECT lpad(to_hex(greatest(n - {MESSAGES}, 1)), 32, '0')::uuid AS of,
         n BETWEEN {MESSAGES} - {WAITING} + 1 AND {MESSAGES} OR n > {MESSAGES} + {ENDPOINTS}
           AS is_waiting) AS told
""",
    f"""
INSERT INTO delivery_attempt (message_id, attempt, at, milliseconds, http_status)
SELECT 'msg_' || n, 1, '2029-12-31Z', 1, 200 FROM generate_series(1, {MESSAGES}) AS n
""",
)
# A few messages with many replays: their attempts lie among those of the others.
REPLAYED: Final = (
    *FILL[:2],
    """
INSERT INTO delivery_attempt (message_id, attempt, at, milliseconds, http_status)
SELECT 'msg_' || n % 20 + 1, n, '2029-12-31Z', 1, 200 FROM generate_series(1, 10000) AS n
""",
)
APP: Final = UUID(int=1)
APPS: Final = [UUID(int=n) for n in (1, 200, 201, 500, 777)]
SWAPS: Final = [UUID(int=n) for n in (2000, 2001, 2500, 3001, 10**6)]
BEGAN: Final = datetime(2029, 12, 31, tzinfo=UTC)
DEEP: Final = BEGAN + timedelta(seconds=2000)  # the end of a message in the middle of the list
SENT: Final = [f"msg_{n}" for n in range(MESSAGES - WAITING + 1, MESSAGES + 1)]


def query_of(name: str, at_most: int = 80, **values: Any) -> Question:
    statement = getattr(statements, name)
    return Question(statement, {key: values[key] for key in statement.names}, at_most)


QUESTIONS: Final = {
    "AUDIENCE": query_of("AUDIENCE", app_ids=APPS, kept_from=NOW),
    "ADD_MESSAGES": query_of(
        "ADD_MESSAGES",
        at_most=150,
        app_id=APPS,
        swap_id=SWAPS,
        sequence=[2] * 5,
        event_type=["swap.updated"] * 5,
        changed_at=[NOW] * 5,
        body=[b"body"] * 5,
        kept_from=NOW,
        updated="swap.updated",
        at=NOW,
    ),
    "CLAIM": query_of(
        "CLAIM",
        at_most=150,
        endpoint_ids=[APP],
        allowances=[5],
        first_allowance=2,
        at=NOW,
        until=NOW,
        claim=APP,
        free=5,
    ),
    "RECORD": query_of(
        "RECORD",
        at_most=250,
        message_id=SENT,
        claim=[APP] * 5,
        endpoint_id=[APP] * 5,
        attempt=[1] * 5,
        at=[NOW] * 5,
        milliseconds=[1] * 5,
        http_status=[200] * 5,
        error=[None] * 5,
        request_headers=["{}"] * 5,
        response_headers=[None] * 5,
        response_body=[None] * 5,
        response_body_is_cut=[False] * 5,
        state=["delivered"] * 5,
        due_at=[NOW] * 5,
    ),
    "STILL_FAILING": query_of("STILL_FAILING", at_most=100, ids=APPS, before=NOW),
    "COUNT_ENDPOINTS": query_of("COUNT_ENDPOINTS", app_id=APP),
    "ENDPOINT": query_of("ENDPOINT", id=APP),
    "ENDPOINTS_OF_APP": query_of("ENDPOINTS_OF_APP", app_id=APP),
    "ROTATE": query_of("ROTATE", id=APP, secret="another", at=NOW, until=NOW),
    "SEAL_SECRETS": query_of(
        "SEAL_SECRETS", at_most=100, id=APPS, secret=["a"] * 5, previous_secret=[None] * 5,
        earlier_secret=[None] * 5,
    ),
    "DISABLE": query_of("DISABLE", at_most=100, ids=APPS, at=NOW, reason="operator"),
    "ADD_NOTICES": query_of(
        "ADD_NOTICES",
        at_most=150,
        id=APPS,
        app_id=APPS,
        body=[b"body"] * 5,
        event_type="endpoint.disabled",
        at=NOW,
    ),
    "DISCARD": query_of("DISCARD", at=NOW),
    "LOCK": query_of("LOCK", id=APP),
    "REMOVE": query_of("REMOVE", id=APP, at=NOW, reason="owner"),
    "ENABLE": query_of("ENABLE", id=APP, at=NOW),
    "ADD_TEST": query_of(
        "ADD_TEST", message_id="msg", id=APP, event_type="test", body=b"body", at=NOW
    ),
    "MESSAGES_OF_SWAP": query_of("MESSAGES_OF_SWAP", swap_id=SWAPS[0], app_id=APP),
    "MESSAGES_OF_ENDPOINT": query_of(
        "MESSAGES_OF_ENDPOINT",
        at_most=150,
        endpoint_id=APP,
        since=datetime(2029, 1, 1, tzinfo=UTC),
        undelivered_only=False,
        until=None,
        delivered_only=False,
        limit=5,
        offset=5,
        reach=10,
    ),
    "COUNT_MESSAGES_OF_ENDPOINT": query_of(
        "COUNT_MESSAGES_OF_ENDPOINT",
        endpoint_id=APP,
        since=datetime(2029, 1, 1, tzinfo=UTC),
        undelivered_only=False,
        until=None,
        delivered_only=False,
        reach=20,
    ),
    "ENDED_OF_ENDPOINT": query_of(
        "ENDED_OF_ENDPOINT",
        at_most=150,
        endpoint_id=APP,
        since=datetime(2029, 1, 1, tzinfo=UTC),
        undelivered_only=False,
        until=None,
        delivered_only=False,
        limit=5,
        offset=5,
    ),
    "MESSAGES_BEHIND": query_of(
        "MESSAGES_BEHIND",
        at_most=150,
        endpoint_id=APP,
        since=datetime(2029, 1, 1, tzinfo=UTC),
        undelivered_only=False,
        until=None,
        delivered_only=False,
        limit=5,
        place_ended_at=DEEP,
        place_due_at=BEGAN,
        place_id="msg_2000",
    ),
    "ENDED_BEHIND": query_of(
        "ENDED_BEHIND",
        at_most=150,
        endpoint_id=APP,
        since=datetime(2029, 1, 1, tzinfo=UTC),
        undelivered_only=False,
        until=None,
        delivered_only=False,
        limit=5,
        place_ended_at=DEEP,
        place_sequence=1,
        place_id="msg_2000",
    ),
    "COUNT_ENDED_OF_ENDPOINT": query_of(
        "COUNT_ENDED_OF_ENDPOINT",
        endpoint_id=APP,
        since=datetime(2029, 1, 1, tzinfo=UTC),
        undelivered_only=False,
        until=None,
        delivered_only=False,
        reach=20,
    ),
    "FIGURES": query_of("FIGURES", app_id=APP, since=NOW),
    "FIGURES_BY_HOUR": query_of("FIGURES_BY_HOUR", app_id=APP, since=NOW),
    "MESSAGE": query_of("MESSAGE", id="msg_2000"),
    "REPLAY": query_of("REPLAY", id="msg_2000", at=NOW),
    "REPLAY_SINCE": query_of(
        "REPLAY_SINCE",
        at_most=150,
        endpoint_id=APP,
        since=datetime(2029, 1, 1, tzinfo=UTC),
        at=NOW,
        undelivered_only=False,
        until=None,
        delivered_only=False,
        limit=5,
    ),
    "OVERDUE_SINCE": query_of("OVERDUE_SINCE", at_most=150, at=NOW),
    "IS_SENT_TO": query_of("IS_SENT_TO", id=APP),
    "FORGET": query_of(
        "FORGET", at_most=200, before=datetime(2030, 1, 1, tzinfo=UTC), limit=5
    ),
}  # fmt: skip


async def test_every_statement_reads_only_the_rows_of_its_result(
    readers: Readers, engine: Engine
) -> None:
    assert await readers.among(QUESTIONS, History(engine, TABLES, FILL)) == {}


async def test_a_message_reads_only_its_latest_attempts(readers: Readers, engine: Engine) -> None:
    question = query_of("MESSAGE", id="msg_2")

    assert await readers.among({"MESSAGE": question}, History(engine, TABLES, REPLAYED)) == {}
