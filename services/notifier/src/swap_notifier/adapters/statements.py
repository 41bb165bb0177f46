"""Every SQL statement of the notifier. Those of a batch take arrays, so a batch costs a fixed
number of statements.
"""

from typing import Final

from sqlalchemy import bindparam, insert, select
from sqlmodel import col

from swap_notifier.adapters.models import EndpointFacts, EndpointTable
from swap_notifier.domain.endpoints import LISTENER_URL
from swap_runtime.postgres.models import columns_of, statement_of
from swap_runtime.postgres.sql import sql

MESSAGES_DUE: Final = "messages_due"  # the channel that wakes the deliveries
# A message of a listener has ended when it is stored: it is read and never sent.
_IS_LISTENER: Final = f"endpoint.url = '{LISTENER_URL}'"
_FIRST_STATE: Final = f"CASE WHEN {_IS_LISTENER} THEN 'discarded' ELSE 'waiting' END"
_FIRST_END: Final = f"CASE WHEN {_IS_LISTENER} THEN CAST(:at AS timestamptz) END"

AUDIENCE: Final = sql("""
SELECT app_id, bool_or(wants_updates) AS wants_updates
FROM endpoint
WHERE app_id = ANY(:app_ids) AND removed_at IS NULL
  AND (disabled_at IS NULL OR disabled_at > :kept_from)
GROUP BY app_id
""")
# The id is derived from the endpoint and the change, so it is always the same. Messages of a
# disabled endpoint are stored as discarded, for the retention of messages, so that they can be
# replayed.
ADD_MESSAGES: Final = sql(f"""
INSERT INTO webhook_message (id, swap_id, endpoint_id, sequence, app_id, event_type, body, state,
                             attempts, due_at, created_at, ended_at)
SELECT 'msg_' || left(encode(sha256(convert_to(
         concat_ws('/', endpoint.id, new.swap_id, new.sequence), 'UTF8')), 'hex'), 32),
       new.swap_id, endpoint.id, new.sequence, new.app_id, new.event_type, new.body,
       CASE WHEN told.at_once THEN 'waiting' ELSE 'discarded' END, 0, :at, :at,
       CASE WHEN told.at_once THEN NULL ELSE CAST(:at AS timestamptz) END
FROM unnest(CAST(:app_id AS uuid[]), CAST(:swap_id AS uuid[]), CAST(:sequence AS int[]),
            CAST(:event_type AS text[]), CAST(:changed_at AS timestamptz[]),
            CAST(:body AS bytea[]))
     AS new(app_id, swap_id, sequence, event_type, changed_at, body)
JOIN endpoint ON endpoint.app_id = new.app_id
             AND endpoint.removed_at IS NULL
             AND (endpoint.disabled_at IS NULL OR endpoint.disabled_at > :kept_from)
             AND endpoint.created_at <= new.changed_at
             AND (endpoint.wants_updates OR new.event_type <> :updated)
CROSS JOIN LATERAL (
  SELECT endpoint.disabled_at IS NULL AND endpoint.enabled_from <= new.changed_at
     AND NOT {_IS_LISTENER} AS at_once
) AS told
ORDER BY new.swap_id, endpoint.id, new.sequence
ON CONFLICT (swap_id, endpoint_id, sequence) DO NOTHING
""")
DATABASE_NOW: Final = sql("SELECT clock_timestamp()")

# An index skip scan: endpoints with waiting messages are few beside the messages.
_WAITING: Final = """WITH RECURSIVE waiting AS (
  (SELECT endpoint_id FROM webhook_message WHERE state = 'waiting'
   ORDER BY endpoint_id LIMIT 1)
  UNION ALL
  SELECT (SELECT m.endpoint_id FROM webhook_message AS m
          WHERE m.state = 'waiting' AND m.endpoint_id > waiting.endpoint_id
          ORDER BY m.endpoint_id LIMIT 1)
  FROM waiting WHERE waiting.endpoint_id IS NOT NULL
)"""
# Each endpoint with waiting messages contributes its oldest due messages, up to its allowance. The
# turns alternate between endpoints, so that one backlog does not delay another. A message is sent
# only to endpoints of its app. LATERAL looks each endpoint up by its key; a join could read all of
# them.
CLAIM: Final = sql(
    f"""
{_WAITING}, allowance AS (
  SELECT endpoint.id, endpoint.app_id, coalesce(known.allowance, :first_allowance) AS allowance
  FROM waiting CROSS JOIN LATERAL (
    SELECT id, app_id FROM endpoint
    WHERE id = waiting.endpoint_id AND disabled_at IS NULL) AS endpoint
  LEFT JOIN unnest(CAST(:endpoint_ids AS uuid[]), CAST(:allowances AS int[]))
    AS known(id, allowance) ON known.id = endpoint.id
), due AS (
  SELECT oldest.id, row_number() OVER (PARTITION BY allowance.id ORDER BY oldest.due_at) AS turn
  FROM allowance CROSS JOIN LATERAL (
    SELECT m.id, m.due_at FROM webhook_message AS m
    WHERE m.endpoint_id = allowance.id AND m.app_id = allowance.app_id
      AND m.state = 'waiting' AND m.due_at <= :at
    ORDER BY m.due_at LIMIT allowance.allowance FOR UPDATE SKIP LOCKED
  ) AS oldest
), claimed AS (
  UPDATE webhook_message AS m SET due_at = :until, claim = :claim
  WHERE m.id IN (SELECT id FROM due ORDER BY turn LIMIT :free)
  RETURNING m.id, m.swap_id, m.endpoint_id, m.event_type, m.body, m.attempts
)
SELECT claimed.*, endpoint.*
FROM claimed CROSS JOIN LATERAL (
  SELECT url, secret, failing_since,
         CASE WHEN previous_secret_until > :at THEN previous_secret END AS previous_secret,
         CASE WHEN earlier_secret_until > :at THEN earlier_secret END AS earlier_secret
  FROM endpoint WHERE id = claimed.endpoint_id
) AS endpoint
""",
)

# One statement for messages, attempts and endpoints. An attempt that lost its claim changes no
# message and is not logged. It counts for its endpoint all the same: it reached it, or failed.
# Nothing is tried again for an endpoint that was disabled meanwhile.
RECORD: Final = sql("""
WITH outcome AS (
  SELECT * FROM unnest(
    CAST(:message_id AS text[]), CAST(:claim AS uuid[]), CAST(:endpoint_id AS uuid[]),
    CAST(:attempt AS int[]), CAST(:at AS timestamptz[]), CAST(:milliseconds AS int[]),
    CAST(:http_status AS int[]), CAST(:error AS text[]), CAST(:request_headers AS text[]),
    CAST(:response_headers AS text[]), CAST(:response_body AS text[]),
    CAST(:response_body_is_cut AS bool[]), CAST(:state AS text[]),
    CAST(:due_at AS timestamptz[]))
    AS o(message_id, claim, endpoint_id, attempt, at, milliseconds, http_status, error,
         request_headers, response_headers, response_body, response_body_is_cut, state, due_at)
), recorded AS (
  UPDATE webhook_message AS m
  SET attempts = o.attempt, due_at = o.due_at, claim = NULL,
      state = CASE WHEN o.state = 'waiting' AND endpoint.disabled_at IS NOT NULL
                   THEN 'discarded' ELSE o.state END,
      ended_at = CASE WHEN o.state = 'waiting' AND endpoint.disabled_at IS NULL
                      THEN NULL ELSE o.at END
  FROM outcome AS o JOIN endpoint ON endpoint.id = o.endpoint_id
  WHERE m.id = o.message_id AND m.claim = o.claim
  RETURNING m.id
), logged AS (
  INSERT INTO delivery_attempt (message_id, attempt, at, milliseconds, http_status, error,
                                request_headers, response_headers, response_body,
                                response_body_is_cut)
  SELECT message_id, attempt, at, milliseconds, http_status, error,
         CAST(request_headers AS jsonb), CAST(response_headers AS jsonb), response_body,
         response_body_is_cut
  FROM outcome WHERE message_id IN (SELECT id FROM recorded) ORDER BY at
), latest AS (
  SELECT endpoint_id, bool_or(state = 'delivered') AS has_delivered, min(at) AS first_at
  FROM outcome GROUP BY endpoint_id
)
UPDATE endpoint
SET failing_since = CASE WHEN has_delivered THEN NULL ELSE first_at END,
    first_delivered_at = CASE WHEN has_delivered THEN coalesce(first_delivered_at, first_at)
                              ELSE first_delivered_at END
FROM latest
WHERE endpoint.id = latest.endpoint_id
  AND ((endpoint.failing_since IS NULL) <> has_delivered
    OR has_delivered AND endpoint.first_delivered_at IS NULL)
""")

STILL_FAILING: Final = sql("""
SELECT id FROM endpoint WHERE id = ANY(CAST(:ids AS uuid[])) AND failing_since <= :before
""")

NEW_ENDPOINT: Final = (
    "id",
    "app_id",
    "url",
    "environment",
    "wants_updates",
    "wants_notices",
    "secret",
    "created_at",
    "enabled_from",
)
ADD_ENDPOINT: Final = statement_of(
    insert(EndpointTable).values({name: bindparam(name) for name in NEW_ENDPOINT})
)
LOCK_APP: Final = sql("SELECT pg_advisory_xact_lock(hashtextextended(CAST(:app_id AS text), 0))")
COUNT_ENDPOINTS: Final = sql("""
-- An owner may not add the URL of an endpoint that an operator disabled.
SELECT count(*) AS there,
       array_agg(url) FILTER (WHERE disabled_reason = 'operator') AS kept_disabled
FROM endpoint WHERE app_id = :app_id AND removed_at IS NULL
""")
_ENDPOINTS: Final = select(*columns_of(EndpointFacts, EndpointTable)).where(
    col(EndpointTable.removed_at).is_(None)
)
_BY_CREATION: Final = (col(EndpointTable.created_at), col(EndpointTable.id))
ENDPOINTS: Final = statement_of(_ENDPOINTS.order_by(*_BY_CREATION))
ENDPOINTS_OF_APP: Final = statement_of(
    _ENDPOINTS.where(col(EndpointTable.app_id) == bindparam("app_id")).order_by(*_BY_CREATION)
)
ENDPOINT: Final = statement_of(_ENDPOINTS.where(col(EndpointTable.id) == bindparam("id")))
CHOOSE_EVENTS: Final = sql("""
UPDATE endpoint SET wants_updates = :wants_updates, wants_notices = :wants_notices
WHERE id = :id AND removed_at IS NULL
""")
# The secret before the last one signs until 24 hours after its rotation. An owner who lost the
# answer with the last one rotates again at once, while the receiver still has the earlier one.
ROTATE: Final = sql("""
UPDATE endpoint
SET earlier_secret = CASE WHEN previous_secret_until > :at THEN previous_secret END,
    earlier_secret_until = CASE WHEN previous_secret_until > :at THEN previous_secret_until END,
    previous_secret = secret, previous_secret_until = :until, secret = :secret
WHERE id = :id AND removed_at IS NULL RETURNING id
""")
# The second part of what is stored names the key that sealed it; without one it is in the clear.
OLDER_SECRETS: Final = sql("""
SELECT id, secret, previous_secret, earlier_secret FROM endpoint
WHERE (split_part(secret, '.', 2) <> :first
    AND split_part(secret, '.', 2) = ANY(CAST(:known AS text[])))
  OR (split_part(previous_secret, '.', 2) <> :first
    AND split_part(previous_secret, '.', 2) = ANY(CAST(:known AS text[])))
  OR (split_part(earlier_secret, '.', 2) <> :first
    AND split_part(earlier_secret, '.', 2) = ANY(CAST(:known AS text[])))
ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
""")
SEAL_SECRETS: Final = sql("""
UPDATE endpoint SET secret = new.secret, previous_secret = new.previous_secret,
                    earlier_secret = new.earlier_secret
FROM unnest(CAST(:id AS uuid[]), CAST(:secret AS text[]), CAST(:previous_secret AS text[]),
            CAST(:earlier_secret AS text[]))
     AS new(id, secret, previous_secret, earlier_secret)
WHERE endpoint.id = new.id
""")
SECRETS_BY_KEY: Final = sql("""
SELECT split_part(stored.secret, '.', 2) AS key_id, count(*) AS number
FROM endpoint CROSS JOIN LATERAL (VALUES (secret), (previous_secret), (earlier_secret))
     AS stored(secret)
WHERE stored.secret IS NOT NULL GROUP BY key_id
""")
DISABLE: Final = sql("""
UPDATE endpoint SET disabled_at = coalesce(disabled_at, :at),
                    disabled_reason = CASE WHEN :reason = 'operator' THEN :reason
                                           ELSE coalesce(disabled_reason, :reason) END
WHERE id = ANY(:ids) AND removed_at IS NULL
RETURNING id, app_id, url, disabled_at, disabled_reason, failing_since,
          old.disabled_at IS NULL AS was_enabled
""")
# `lost` are endpoints that were just disabled. The app's other endpoints get a notice.
ADD_NOTICES: Final = sql(f"""
INSERT INTO webhook_message (id, endpoint_id, sequence, app_id, event_type, body, state, attempts,
                             due_at, created_at, ended_at)
SELECT 'msg_' || left(encode(sha256(convert_to(
         concat_ws('/', endpoint.id, lost.id, CAST(:at AS timestamptz)), 'UTF8')), 'hex'), 32),
       endpoint.id, 0, endpoint.app_id, :event_type, lost.body, {_FIRST_STATE}, 0, :at, :at,
       {_FIRST_END}
FROM unnest(CAST(:id AS uuid[]), CAST(:app_id AS uuid[]), CAST(:body AS bytea[]))
     AS lost(id, app_id, body)
JOIN endpoint ON endpoint.app_id = lost.app_id AND endpoint.disabled_at IS NULL
             AND endpoint.wants_notices
ON CONFLICT (id) DO NOTHING
""")
# What is under way keeps its claim, and RECORD ends it. A claim that is over is a dead process's.
DISCARD: Final = sql("""
UPDATE webhook_message SET state = 'discarded', ended_at = :at, claim = NULL
WHERE id IN (
  SELECT m.id FROM endpoint JOIN webhook_message AS m ON m.endpoint_id = endpoint.id
  WHERE endpoint.disabled_at IS NOT NULL AND m.state = 'waiting'
    AND (m.claim IS NULL OR m.due_at <= :at)
  FOR UPDATE OF m SKIP LOCKED
) RETURNING id
""")
LOCK: Final = sql("""
SELECT disabled_reason FROM endpoint WHERE id = :id AND removed_at IS NULL FOR NO KEY UPDATE
""")
REMOVE: Final = sql("""
UPDATE endpoint SET removed_at = :at, disabled_at = coalesce(disabled_at, :at),
                    disabled_reason = coalesce(disabled_reason, :reason)
WHERE id = :id
""")
ENABLE: Final = sql("""
UPDATE endpoint SET enabled_from = :at, disabled_at = NULL, disabled_reason = NULL,
                    failing_since = NULL
WHERE id = :id RETURNING id
""")

ADD_TEST: Final = sql(f"""
INSERT INTO webhook_message (id, endpoint_id, sequence, app_id, event_type, body, state, attempts,
                             due_at, created_at, ended_at)
SELECT :message_id, id, 0, app_id, :event_type, :body, {_FIRST_STATE}, 0, :at, :at,
       {_FIRST_END}
FROM endpoint WHERE id = :id AND disabled_at IS NULL RETURNING id
""")

# A claim moves `due_at` to its own end, so while there is one, `due_at` is not the next attempt.
_FACTS: Final = """
m.id, m.swap_id, m.endpoint_id, m.sequence, m.event_type, m.state, m.attempts, m.due_at,
m.state = 'waiting' AND m.claim IS NOT NULL AS is_under_way, m.created_at, m.ended_at
"""
# A list shows no headers and no bodies: one message has up to `ATTEMPTS_SHOWN_MAX` of them.
_SHOWN: Final = f"""
{_FACTS},
coalesce((SELECT jsonb_agg(jsonb_build_object(
    'attempt', a.attempt, 'at', a.at, 'milliseconds', a.milliseconds,
    'http_status', a.http_status, 'error', a.error) ORDER BY a.id)
  FROM delivery_attempt AS a WHERE a.message_id = m.id), '[]') AS log
"""
ATTEMPTS_SHOWN_MAX: Final = 20
# The latest attempts, oldest first. A replay restarts their numbers, so they are ordered by their
# ids. BETWEEN makes Postgres read the index (message_id, id) from its end. With `=` it may walk
# back through the ids of all messages.
_EXCHANGES: Final = f"""
coalesce((SELECT jsonb_agg(jsonb_build_object(
    'attempt', a.attempt, 'at', a.at, 'milliseconds', a.milliseconds,
    'http_status', a.http_status, 'error', a.error,
    'request_headers', coalesce(a.request_headers, '{{}}'),
    'response_headers', coalesce(a.response_headers, '{{}}'),
    'response_body', a.response_body,
    'response_body_is_cut', a.response_body_is_cut) ORDER BY a.id)
  FROM (SELECT * FROM delivery_attempt AS latest
        WHERE latest.message_id BETWEEN m.id AND m.id
        ORDER BY latest.message_id DESC, latest.id DESC
        LIMIT {ATTEMPTS_SHOWN_MAX}) AS a), '[]') AS log
"""
MESSAGES_OF_SWAP_MAX: Final = 500
MESSAGES_OF_SWAP: Final = sql(f"""
SELECT {_SHOWN} FROM webhook_message AS m
WHERE m.swap_id = :swap_id
  AND (CAST(:app_id AS uuid) IS NULL OR m.app_id = CAST(:app_id AS uuid))
ORDER BY m.sequence, m.endpoint_id LIMIT {MESSAGES_OF_SWAP_MAX}
""")
# Filters of ended messages and of waiting ones, which have no end and are not delivered.
_IS_WANTED: Final = """e.ended_at < coalesce(CAST(:until AS timestamptz), 'infinity')
   AND (e.state <> 'delivered' OR NOT :undelivered_only)
   AND (e.state = 'delivered' OR NOT :delivered_only)"""
_MAY_WAIT: Final = "CAST(:until AS timestamptz) IS NULL AND NOT :delivered_only"
# What waits has no end yet and comes first. Two indexes: waiting messages are found by `due_at`,
# ended ones by `ended_at`.
_LISTED: Final = f"""
(SELECT w.id, w.ended_at, w.due_at FROM webhook_message AS w
 WHERE w.endpoint_id = :endpoint_id AND w.state = 'waiting' AND {_MAY_WAIT}
 ORDER BY w.due_at, w.id LIMIT :reach)
UNION ALL
(SELECT e.id, e.ended_at, e.due_at FROM webhook_message AS e
 WHERE e.endpoint_id = :endpoint_id AND e.ended_at >= :since
   AND {_IS_WANTED}
 ORDER BY e.ended_at DESC, e.due_at, e.id LIMIT :reach)
"""
# Ids first: nothing else of the pages before is read.
MESSAGES_OF_ENDPOINT: Final = sql(f"""
SELECT {_SHOWN} FROM webhook_message AS m
WHERE m.id IN (SELECT id FROM ({_LISTED}) AS listed
  ORDER BY ended_at DESC NULLS FIRST, due_at, id LIMIT :limit OFFSET :offset)
ORDER BY m.ended_at DESC NULLS FIRST, m.due_at, m.id
""")
# Behind a place: what waits there, then what ended. The bounds are conditions of the same indexes,
# so the rows of the parts before are not read.
_LISTED_BEHIND: Final = f"""
(SELECT w.id, w.ended_at, w.due_at FROM webhook_message AS w
 WHERE w.endpoint_id = :endpoint_id AND w.state = 'waiting' AND {_MAY_WAIT}
   AND CAST(:place_ended_at AS timestamptz) IS NULL
   AND w.due_at >= :place_due_at AND (w.due_at, w.id) > (:place_due_at, :place_id)
 ORDER BY w.due_at, w.id LIMIT :limit)
UNION ALL
(SELECT e.id, e.ended_at, e.due_at FROM webhook_message AS e
 WHERE e.endpoint_id = :endpoint_id AND e.ended_at >= :since
   AND e.ended_at <= coalesce(CAST(:place_ended_at AS timestamptz), 'infinity')
   AND (CAST(:place_ended_at AS timestamptz) IS NULL OR e.ended_at < :place_ended_at
     OR (e.due_at, e.id) > (:place_due_at, :place_id))
   AND {_IS_WANTED}
 ORDER BY e.ended_at DESC, e.due_at, e.id LIMIT :limit)
"""
MESSAGES_BEHIND: Final = sql(f"""
SELECT {_SHOWN} FROM webhook_message AS m
WHERE m.id IN (SELECT id FROM ({_LISTED_BEHIND}) AS listed
  ORDER BY ended_at DESC NULLS FIRST, due_at, id LIMIT :limit)
ORDER BY m.ended_at DESC NULLS FIRST, m.due_at, m.id
""")
# What ended is found by when it did, what waits by its own index: nothing older is touched.
# Listeners are left out: whether their messages were forwarded is not known here.
FIGURES: Final = sql(f"""
SELECT endpoint.id AS endpoint_id, ended.delivered,
       ended.number - ended.delivered + waiting.number AS undelivered, waiting.number AS waiting
FROM endpoint CROSS JOIN LATERAL (
  SELECT count(*) AS number, count(*) FILTER (WHERE e.state = 'delivered') AS delivered
  FROM webhook_message AS e WHERE e.endpoint_id = endpoint.id AND e.ended_at >= :since
) AS ended CROSS JOIN LATERAL (
  SELECT count(*) AS number FROM webhook_message AS w
  WHERE w.endpoint_id = endpoint.id AND w.state = 'waiting'
) AS waiting
WHERE endpoint.app_id = :app_id AND endpoint.removed_at IS NULL
  AND NOT {_IS_LISTENER}
ORDER BY endpoint.created_at, endpoint.id
""")
# By the index of what ended, as above; hours in which nothing ended are left out.
FIGURES_BY_HOUR: Final = sql(f"""
SELECT endpoint.id AS endpoint_id, date_trunc('hour', e.ended_at, 'UTC') AS hour,
       count(*) FILTER (WHERE e.state = 'delivered') AS delivered,
       count(*) FILTER (WHERE e.state <> 'delivered') AS undelivered
FROM endpoint CROSS JOIN LATERAL (
  SELECT m.state, m.ended_at FROM webhook_message AS m
  WHERE m.endpoint_id = endpoint.id AND m.ended_at >= :since
) AS e
WHERE endpoint.app_id = :app_id AND endpoint.removed_at IS NULL
  AND NOT {_IS_LISTENER}
GROUP BY endpoint.id, hour ORDER BY hour
""")
# In the order in which they ended, so that a reader goes on where it was; what waits is left out.
_ENDED: Final = f"""
SELECT e.id, e.ended_at, e.sequence FROM webhook_message AS e
WHERE e.endpoint_id = :endpoint_id AND e.ended_at >= :since
  AND {_IS_WANTED}
ORDER BY e.ended_at, e.sequence, e.id
"""
ENDED_OF_ENDPOINT: Final = sql(f"""
SELECT {_SHOWN} FROM webhook_message AS m
WHERE m.id IN (SELECT id FROM ({_ENDED} LIMIT :limit OFFSET :offset) AS listed)
ORDER BY m.ended_at, m.sequence, m.id
""")
ENDED_BEHIND: Final = sql(f"""
SELECT {_SHOWN} FROM webhook_message AS m
WHERE m.id IN (
  SELECT e.id FROM webhook_message AS e
  WHERE e.endpoint_id = :endpoint_id
    AND e.ended_at >= greatest(CAST(:since AS timestamptz), CAST(:place_ended_at AS timestamptz))
    AND (e.ended_at, e.sequence, e.id) > (:place_ended_at, :place_sequence, :place_id)
    AND {_IS_WANTED}
  ORDER BY e.ended_at, e.sequence, e.id LIMIT :limit)
ORDER BY m.ended_at, m.sequence, m.id
""")
COUNT_ENDED_OF_ENDPOINT: Final = sql(f"""
SELECT count(*) FROM ({_ENDED} LIMIT :reach) AS counted
""")
COUNT_MESSAGES_OF_ENDPOINT: Final = sql(f"""
SELECT count(*) FROM (SELECT FROM ({_LISTED}) AS listed LIMIT :reach) AS counted
""")
MESSAGE: Final = sql(f"""
SELECT {_FACTS}, {_EXCHANGES}, convert_from(m.body, 'UTF8') AS body
FROM webhook_message AS m WHERE m.id = :id
""")
REPLAY: Final = sql(f"""
UPDATE webhook_message AS m
SET state = {_FIRST_STATE}, attempts = 0, due_at = :at, claim = NULL, ended_at = {_FIRST_END}
FROM endpoint
WHERE m.id = :id AND endpoint.id = m.endpoint_id AND endpoint.disabled_at IS NULL
RETURNING m.id
""")
# What ended since the replay began is not replayed again, so that it comes to an end. Each is due
# when it was made, which keeps their order.
REPLAY_SINCE: Final = sql("""
UPDATE webhook_message AS m
SET state = 'waiting', attempts = 0, due_at = m.created_at, claim = NULL, ended_at = NULL
WHERE m.id IN (
  SELECT e.id FROM endpoint JOIN webhook_message AS e ON e.endpoint_id = endpoint.id
  WHERE endpoint.id = :endpoint_id AND endpoint.disabled_at IS NULL
    AND e.ended_at >= :since AND e.ended_at < :at AND e.created_at >= :since
    AND (e.state <> 'delivered' OR NOT :undelivered_only)
  ORDER BY e.ended_at LIMIT :limit FOR UPDATE OF e
) RETURNING m.id
""")
IS_SENT_TO: Final = sql(f"""
SELECT disabled_at IS NULL AND NOT {_IS_LISTENER} FROM endpoint WHERE id = :id
""")
FORGET: Final = sql("""
DELETE FROM webhook_message WHERE id IN (
  SELECT old.id FROM endpoint CROSS JOIN LATERAL (
    SELECT m.id FROM webhook_message AS m
    WHERE m.endpoint_id = endpoint.id AND m.ended_at < :before ORDER BY m.ended_at LIMIT :limit
  ) AS old LIMIT :limit
) RETURNING id
""")
# A claimed message is due only when its claim is over, so that what is in flight is not counted.
OVERDUE_SINCE: Final = sql(f"""
{_WAITING}
SELECT min(first.due_at) AS since
FROM waiting CROSS JOIN LATERAL (
  SELECT id FROM endpoint
  WHERE id = waiting.endpoint_id AND disabled_at IS NULL) AS endpoint
CROSS JOIN LATERAL (
  SELECT due_at FROM webhook_message
  WHERE endpoint_id = endpoint.id AND state = 'waiting' AND due_at <= :at
  ORDER BY due_at LIMIT 1) AS first
""")
# This reads no messages, and the endpoints are few.
FAILING: Final = sql("""
SELECT count(*) AS endpoints, min(failing_since) AS since FROM endpoint
WHERE failing_since IS NOT NULL AND disabled_at IS NULL AND removed_at IS NULL
""")
