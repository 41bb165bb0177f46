"""Every SQL statement of the quoter. Each takes arrays: a batch costs a fixed number of them."""

from typing import Final

from swap_runtime.postgres.sql import sql

MARKET_CHANGED: Final = "market_changed"  # the channel of NOTIFY

SAVE_INVENTORY: Final = sql("""
INSERT INTO inventory AS known (network, token, version, available_base_units)
SELECT * FROM unnest(CAST(:network AS text[]), CAST(:token AS text[]),
                     CAST(:version AS bigint[]), CAST(:available_base_units AS numeric[]))
     AS new(network, token, version, available_base_units) ORDER BY network, token
ON CONFLICT (network, token) DO UPDATE
SET version = excluded.version, available_base_units = excluded.available_base_units
WHERE known.version < excluded.version
""")

# Serialises two batches of one route: each averages over the completions of both.
LOCK_ROUTES: Final = sql("""
SELECT pg_advisory_xact_lock(lock) FROM (
  SELECT DISTINCT hashtextextended(concat_ws('/', source_network, source_token,
                                             destination_network, destination_token), 0) AS lock
  FROM unnest(CAST(:source_network AS text[]), CAST(:source_token AS text[]),
              CAST(:destination_network AS text[]), CAST(:destination_token AS text[]))
       AS route(source_network, source_token, destination_network, destination_token)
  ORDER BY lock
) AS sorted
""")
ADD_COMPLETIONS: Final = sql("""
INSERT INTO completion (swap_id, source_network, source_token, destination_network,
                        destination_token, milliseconds, closed_at)
SELECT * FROM unnest(CAST(:swap_id AS uuid[]), CAST(:source_network AS text[]),
                     CAST(:source_token AS text[]), CAST(:destination_network AS text[]),
                     CAST(:destination_token AS text[]), CAST(:milliseconds AS bigint[]),
                     CAST(:closed_at AS timestamptz[]))
ON CONFLICT (swap_id) DO NOTHING
""")
# Keeps the newest `window` completions of each route, deletes the rest, and stores their mean.
TRIM_AND_AVERAGE: Final = sql("""
WITH route AS (
  SELECT DISTINCT * FROM unnest(
      CAST(:source_network AS text[]), CAST(:source_token AS text[]),
      CAST(:destination_network AS text[]), CAST(:destination_token AS text[]))
    AS r(source_network, source_token, destination_network, destination_token)
), ranked AS (
  SELECT completion.*, row_number() OVER (
    PARTITION BY source_network, source_token, destination_network, destination_token
    ORDER BY closed_at DESC, swap_id) AS place
  FROM completion JOIN route
    USING (source_network, source_token, destination_network, destination_token)
), dropped AS (
  DELETE FROM completion USING ranked
  WHERE completion.swap_id = ranked.swap_id AND ranked.place > :window
)
INSERT INTO completion_average AS known
  (source_network, source_token, destination_network, destination_token, milliseconds, swaps)
SELECT source_network, source_token, destination_network, destination_token,
       round(avg(milliseconds)), count(*)
FROM ranked WHERE place <= :window
GROUP BY source_network, source_token, destination_network, destination_token
ON CONFLICT (source_network, source_token, destination_network, destination_token) DO UPDATE
SET milliseconds = excluded.milliseconds, swaps = excluded.swaps
""")
INVENTORY: Final = sql("SELECT network, token, available_base_units FROM inventory")
COMPLETION_AVERAGES: Final = sql("""
SELECT source_network, source_token, destination_network, destination_token, milliseconds
FROM completion_average
""")
