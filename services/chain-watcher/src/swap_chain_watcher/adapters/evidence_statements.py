"""SQL about evidence: what a second provider verified, what waits, what a single one confirmed."""

from typing import Final

from swap_runtime.postgres.sql import sql

IS_UNVERIFIED: Final = """verified_at IS NULL AND providers_required IS NOT NULL
    AND state IN ('seen', 'confirmed')"""

VERIFIED_KEYS: Final = sql("""
SELECT found.block_hash, found.id
FROM unnest(CAST(:ids AS uuid[])) AS wanted(id)
CROSS JOIN LATERAL (
    SELECT block_hash, id FROM movement
    WHERE network = :network AND id = wanted.id AND verified_at IS NOT NULL) AS found
""")
# Of deposits: outflows and internal moves do not count.
UNVERIFIED_SUMS: Final = sql(f"""
SELECT lower(token) AS token, sum(base_units) AS base_units FROM movement
WHERE network = :network AND {IS_UNVERIFIED} AND paid_id IS NULL
  AND kind NOT IN ('swept', 'withdrawn') GROUP BY lower(token)
""")
SINGLE_PROVIDER_SUMS: Final = sql("""
SELECT lower(token) AS token, sum(base_units) AS base_units FROM movement
WHERE network = :network AND trusted_at > :single_provider_since AND trusted_at IS NOT NULL
  AND state = 'confirmed' AND verified_at IS NULL
GROUP BY lower(token)
""")
# Under the cursor's lock, as every other change of a movement.
VERIFY: Final = sql("""
UPDATE movement SET verified_at = :at
FROM (SELECT :network AS network, updated.* FROM unnest(
    CAST(:block_hash AS text[]), CAST(:id AS uuid[])) AS updated(block_hash, id)) AS new
WHERE movement.network = new.network AND movement.block_hash = new.block_hash
  AND movement.id = new.id AND movement.verified_at IS NULL
""")
WITHHOLD: Final = sql("""
UPDATE movement SET withheld_at = :at
FROM (SELECT :network AS network, updated.* FROM unnest(
    CAST(:block_hash AS text[]), CAST(:id AS uuid[])) AS updated(block_hash, id)) AS new
WHERE movement.network = new.network AND movement.block_hash = new.block_hash
  AND movement.id = new.id
""")
TRUST: Final = sql("""
UPDATE movement SET trusted_at = :at
FROM (SELECT :network AS network, updated.* FROM unnest(
    CAST(:block_hash AS text[]), CAST(:id AS uuid[])) AS updated(block_hash, id)) AS new
WHERE movement.network = new.network AND movement.block_hash = new.block_hash
  AND movement.id = new.id
""")
# Lists go on behind a movement, not behind its block: a block may have more than one part holds.
PLACE: Final = "block_number, block_hash, id"
IS_AFTER: Final = f"({PLACE}) > (:after_number, :after_hash, CAST(:after_id AS uuid))"
# What waits for a second provider, and what only one has reported although its block was read
# twice. Rises of coins are in no log that a second look reads.
TO_VERIFY: Final = sql(f"""
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM (SELECT checked_number FROM watch_cursor WHERE network = :network) AS cursor
CROSS JOIN LATERAL (
    SELECT * FROM movement
    WHERE network = :network AND {IS_UNVERIFIED} AND {IS_AFTER}
      AND ((state = 'seen' AND providers_required > 1) OR kind = 'balance_rose'
        OR block_number <= cursor.checked_number)
    ORDER BY {PLACE} LIMIT :limit) AS movement
CROSS JOIN LATERAL (
    SELECT time, parent_hash FROM chain_block
    WHERE network = movement.network AND hash = movement.block_hash) AS block
ORDER BY movement.block_number, movement.block_hash, movement.id
""")
UNVERIFIED_RISES: Final = sql(f"""
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM (SELECT * FROM movement
    WHERE network = :network AND {IS_UNVERIFIED} AND kind = 'balance_rose'
      AND {IS_AFTER} AND block_number <= :upto
    ORDER BY {PLACE} LIMIT :limit) AS movement
CROSS JOIN LATERAL (
    SELECT time, parent_hash FROM chain_block
    WHERE network = movement.network AND hash = movement.block_hash) AS block
ORDER BY movement.block_number, movement.block_hash, movement.id
""")
UNVERIFIED_RISES_OF: Final = sql(f"""
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM (SELECT * FROM movement
    WHERE network = :network AND {IS_UNVERIFIED} AND kind = 'balance_rose'
      AND to_address = ANY(CAST(:addresses AS text[]))) AS movement
CROSS JOIN LATERAL (
    SELECT time, parent_hash FROM chain_block
    WHERE network = movement.network AND hash = movement.block_hash) AS block
ORDER BY movement.to_address, movement.total_before
""")
# Only sweeps that a second provider has reported: a made-up sweep would hide a made-up rise.
SWEPT_COINS: Final = sql("""
SELECT asked.address, coalesce((SELECT sum(movement.base_units) FROM movement
    WHERE movement.network = :network AND movement.from_address = asked.address
      AND movement.kind = 'swept' AND movement.token = :native
      AND movement.state <> 'reverted' AND movement.block_number <= cursor.checked_number
      AND (SELECT block.state FROM chain_block AS block WHERE block.network = movement.network
        AND block.hash = movement.block_hash) = 'canonical'), 0) AS swept
FROM unnest(CAST(:addresses AS text[])) AS asked(address),
  (SELECT checked_number FROM watch_cursor WHERE network = :network) AS cursor
""")

FORGET_CAPS: Final = sql("DELETE FROM one_provider_cap")
SET_CAPS: Final = sql("""
INSERT INTO one_provider_cap (network, token, base_units, span)
SELECT network, token, base_units, :span FROM unnest(CAST(:network AS text[]),
    CAST(:token AS text[]), CAST(:base_units AS numeric[])) AS new(network, token, base_units)
ON CONFLICT (network, token) DO UPDATE SET base_units = excluded.base_units, span = excluded.span
""")
EXPOSURES: Final = sql("""
SELECT network, token, cap_base_units, used_base_units FROM one_provider_exposure
""")
WITHHELD: Final = sql("""
SELECT network, deposits, extract(epoch FROM now() - since) AS seconds FROM withheld_deposits
""")
