"""Every statement about what may leave in a while. Times are of the database's own clock."""

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_settler.paying.store.lane_statements import (
    PAYMENT,
    RECIPIENT_REVERTS,
    SOURCE_STOPPED,
    STOPPED,
)

QUEUE_SAMPLE: Final = 50  # what is tried of a line at once
TOO_LARGE_LENGTH: Final = 5  # of what the Treasury would never pay, in case that it would now
# A payment that waits is found by its line; this is only how late one is that fell out of it.
FALLEN_OUT: Final = "interval '10 minutes'"

# After the payments, before the signer. Counting under a cap locks it.
LOCK_CAPS: Final = sql("""
SELECT id AS cap_id, token, app_id, units FROM outflow_cap
WHERE network = :network ORDER BY id FOR UPDATE
""")
NOW: Final = sql("SELECT clock_timestamp() AS at")
CAP_REQUESTS: Final = sql("""
SELECT intent.id AS intent_id, intent.created_at, intent.token, intent.base_units,
       intent.usd_micros, coalesce(swap.app_id, intent.app_id) AS app_id,
       EXISTS (SELECT FROM outflow_pass WHERE outflow_pass.intent_id = intent.id) AS is_let_through
FROM intent LEFT JOIN swap ON swap.id = intent.swap_id
WHERE intent.id = ANY(CAST(:ids AS uuid[]))
    AND intent.kind IN ('output', 'refuel', 'refund', 'claim', 'partner_fee')
""")
# Payments that must not be made now stay queued, and do not delay later ones.
_PAYABLE: Final = f"""
JOIN intent ON intent.id = queued.intent_id AND intent.state = 'reserved' AND NOT {SOURCE_STOPPED}
"""
USED: Final = sql(f"""
SELECT cap.id AS cap_id, used.spent, line.created_at, line.intent_id
FROM outflow_cap AS cap
CROSS JOIN LATERAL (SELECT coalesce(sum(spent), 0) AS spent FROM outflow_spent
    WHERE cap_id = cap.id AND until > CAST(:at AS timestamptz) - cap.span) AS used
LEFT JOIN LATERAL (SELECT queued.created_at, queued.intent_id
    FROM outflow_queue AS queued {_PAYABLE}
    WHERE queued.cap_id = cap.id AND queued.amount <= cap.units
        AND queued.intent_id <> ALL(CAST(:ids AS uuid[]))
    ORDER BY queued.created_at, queued.intent_id LIMIT 1) AS line ON true
WHERE cap.network = :network
""")
ADD_SPENT: Final = sql("""
INSERT INTO outflow_spent (cap_id, until, spent)
SELECT cap.id, date_bin(cap.span / 60, CAST(:at AS timestamptz), '2000-01-01Z') + cap.span / 60,
       new.spent
FROM unnest(CAST(:cap_id AS bigint[]), CAST(:spent AS numeric[])) AS new(cap_id, spent)
JOIN outflow_cap AS cap ON cap.id = new.cap_id
ORDER BY cap.id
ON CONFLICT (cap_id, until) DO UPDATE SET spent = outflow_spent.spent + excluded.spent
""")
ADD_COUNTED: Final = sql("""
INSERT INTO outflow_counted (intent_id, cap_id, until, amount)
SELECT new.intent_id, cap.id,
       date_bin(cap.span / 60, CAST(:at AS timestamptz), '2000-01-01Z') + cap.span / 60, new.amount
FROM unnest(CAST(:intent_id AS uuid[]), CAST(:cap_id AS bigint[]), CAST(:amount AS numeric[]))
    AS new(intent_id, cap_id, amount)
JOIN outflow_cap AS cap ON cap.id = new.cap_id
ON CONFLICT (intent_id, cap_id) DO NOTHING
""")
DROP_COUNTED: Final = sql("""
DELETE FROM outflow_counted USING outflow_cap AS cap
WHERE cap.id = ANY(CAST(:ids AS bigint[])) AND outflow_counted.cap_id = cap.id
    AND until <= CAST(:at AS timestamptz) - cap.span
""")
DROP_SPENT: Final = sql("""
DELETE FROM outflow_spent USING outflow_cap AS cap
WHERE cap.id = ANY(CAST(:ids AS bigint[])) AND outflow_spent.cap_id = cap.id
    AND until <= CAST(:at AS timestamptz) - cap.span
""")
USE_PASSES: Final = sql("""
UPDATE outflow_pass SET is_used = true
WHERE intent_id = ANY(CAST(:ids AS uuid[])) AND NOT is_used
""")
# A payment stands in the lines of exactly those that refused it the last time.
LEAVE_QUEUES: Final = sql("""
DELETE FROM outflow_queue WHERE intent_id = ANY(CAST(:ids AS uuid[])) AND NOT EXISTS (
    SELECT FROM unnest(CAST(:intent_id AS uuid[]), CAST(:cap_id AS bigint[]))
        AS kept(intent_id, cap_id)
    WHERE kept.intent_id = outflow_queue.intent_id
        AND kept.cap_id IS NOT DISTINCT FROM outflow_queue.cap_id)
""")
JOIN_QUEUES: Final = sql("""
INSERT INTO outflow_queue AS known
    (intent_id, cap_id, network, token, created_at, amount, is_too_large)
SELECT intent.id, kept.cap_id, intent.network, intent.token, intent.created_at, kept.amount,
       kept.is_too_large
FROM unnest(CAST(:intent_id AS uuid[]), CAST(:cap_id AS bigint[]), CAST(:amount AS numeric[]),
            CAST(:is_too_large AS boolean[])) AS kept(intent_id, cap_id, amount, is_too_large)
JOIN intent ON intent.id = kept.intent_id
ON CONFLICT (intent_id, cap_id) DO UPDATE
    SET amount = excluded.amount, is_too_large = excluded.is_too_large
    WHERE known.is_too_large <> excluded.is_too_large
""")
DEFER_QUEUED: Final = sql(f"""
UPDATE intent SET due_at = now() + {FALLEN_OUT}
WHERE id = ANY(CAST(:ids AS uuid[])) AND state = 'reserved'
""")
# The oldest of each queue that its cap allows, and those that an operator let pass. Also the oldest
# that the Treasury refused, because only the chain has its present allowance. What it would never
# pay has no place among those; the smallest of it is tried, for that would be the first to fit.
HEADS: Final = sql(f"""
WITH RECURSIVE of_network AS (
    (SELECT token FROM outflow_queue WHERE network = :network AND cap_id IS NULL
        AND NOT is_too_large ORDER BY token LIMIT 1)
    UNION ALL
    SELECT (SELECT next.token FROM outflow_queue AS next WHERE next.network = :network
        AND next.cap_id IS NULL AND NOT next.is_too_large AND next.token > of_network.token
        ORDER BY next.token LIMIT 1) FROM of_network WHERE of_network.token IS NOT NULL
), of_too_large AS (
    (SELECT token FROM outflow_queue WHERE network = :network AND cap_id IS NULL
        AND is_too_large ORDER BY token LIMIT 1)
    UNION ALL
    SELECT (SELECT next.token FROM outflow_queue AS next WHERE next.network = :network
        AND next.cap_id IS NULL AND next.is_too_large AND next.token > of_too_large.token
        ORDER BY next.token LIMIT 1) FROM of_too_large WHERE of_too_large.token IS NOT NULL
), head AS (
    SELECT line.intent_id FROM outflow_cap AS cap
    CROSS JOIN LATERAL (SELECT coalesce(sum(spent), 0) AS spent FROM outflow_spent
        WHERE cap_id = cap.id AND until > clock_timestamp() - cap.span) AS used
    CROSS JOIN LATERAL (
        SELECT intent_id, sum(amount) OVER (ORDER BY created_at, intent_id) AS total FROM (
            SELECT queued.intent_id, queued.amount, queued.created_at
            FROM outflow_queue AS queued {_PAYABLE}
            WHERE queued.cap_id = cap.id AND (cap.units IS NULL OR queued.amount <= cap.units)
            ORDER BY queued.created_at, queued.intent_id LIMIT {QUEUE_SAMPLE}) AS oldest) AS line
    WHERE cap.network = :network AND (cap.units IS NULL OR used.spent + line.total <= cap.units)
    UNION
    SELECT intent_id FROM outflow_pass WHERE network = :network AND NOT is_used
    UNION
    SELECT line.intent_id FROM of_network CROSS JOIN LATERAL (
        SELECT queued.intent_id FROM outflow_queue AS queued {_PAYABLE}
        WHERE queued.network = :network AND queued.token = of_network.token
            AND queued.cap_id IS NULL AND NOT queued.is_too_large
        ORDER BY queued.created_at, queued.intent_id LIMIT {QUEUE_SAMPLE}) AS line
    UNION
    SELECT line.intent_id FROM of_too_large CROSS JOIN LATERAL (
        SELECT queued.intent_id FROM outflow_queue AS queued {_PAYABLE}
        WHERE queued.network = :network AND queued.token = of_too_large.token
            AND queued.cap_id IS NULL AND queued.is_too_large
        ORDER BY queued.amount, queued.intent_id LIMIT {TOO_LARGE_LENGTH}) AS line
)
SELECT {PAYMENT}, intent.created_at, {RECIPIENT_REVERTS} AS recipient_reverts,
       line.intent_id IS NOT NULL AS is_queued,
       coalesce(line.is_too_large, false) AS is_too_large
FROM head LEFT JOIN outflow_queue AS line
    ON line.intent_id = head.intent_id AND line.cap_id IS NULL
JOIN intent ON intent.id = head.intent_id AND intent.state = 'reserved'
WHERE NOT {SOURCE_STOPPED} AND NOT {STOPPED}
ORDER BY intent.created_at, intent.id
""")
# Sent payments that no reported block has: the Treasury has still to make them.
ON_ITS_WAY: Final = sql("""
SELECT intent.token, sum(intent.base_units) AS base_units FROM nonce_slot AS slot
JOIN slot_intent USING (network, signer, nonce) JOIN intent ON intent.id = slot_intent.intent_id
WHERE slot.network = :network AND slot.closed_at IS NULL
    AND intent.state IN ('assigned', 'broadcast') AND intent.paid_id IS NOT NULL
GROUP BY intent.token
""")
