"""SQL of the chain-watcher, beside `evidence_statements.py`.

Each statement takes arrays, so a batch costs a fixed number of them. A lookup by keys is a separate
LATERAL, which shows the key.
"""

from typing import Final

from swap_runtime.postgres.sql import sql

BEGIN_BLOCK: Final = sql("""
INSERT INTO chain_block (network, hash, number, parent_hash, time, provider, state)
SELECT :network, :hash, :number, :parent_hash, :time, :provider, 'canonical'
WHERE NOT EXISTS (SELECT FROM watch_cursor WHERE network = :network)
""")
BEGIN_CURSOR: Final = sql("""
INSERT INTO watch_cursor
  (network, number, hash, parent_hash, time, finalized_number, start_number, checked_number)
VALUES (:network, :number, :hash, :parent_hash, :time, :number, :number, :number)
ON CONFLICT (network) DO NOTHING
""")

# Each movement reads its own block. Joined, it might be the other way round: until there are
# statistics, every canonical block of the network would be looked at.
IS_CANONICAL: Final = """(SELECT block.state FROM chain_block AS block
    WHERE block.network = movement.network AND block.hash = movement.block_hash) = 'canonical'"""

# A process with an old epoch, or an old cursor, finds no row.
LOCK_CURSOR: Final = sql("""
SELECT hash, halt_reason, revision FROM watch_cursor WHERE network = :network FOR UPDATE
""")

CURSOR: Final = sql("""
SELECT network, number, hash, parent_hash, time, finalized_number, start_number, revision
FROM watch_cursor WHERE network = :network
""")
RECENT_BLOCKS: Final = sql("""
SELECT number, hash, parent_hash, time FROM chain_block
WHERE network = :network AND state = 'canonical' AND number >= :finalized_number
ORDER BY number
""")
# What still waits, in whatever block, and what was confirmed in a block that can still change.
OPEN_MOVEMENTS: Final = sql("""
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM movement CROSS JOIN LATERAL (
    SELECT time, parent_hash FROM chain_block
    WHERE network = movement.network AND hash = movement.block_hash) AS block
WHERE movement.network = :network AND movement.state = 'seen'
UNION ALL
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM chain_block AS block CROSS JOIN LATERAL (
    SELECT * FROM movement
    WHERE network = block.network AND block_hash = block.hash AND state = 'confirmed') AS movement
WHERE block.network = :network AND block.state = 'canonical' AND NOT block.finalized
  AND block.number > :finalized_number
""")
NEAREST_BLOCK: Final = sql("""
SELECT number, hash, parent_hash, time FROM chain_block
WHERE network = :network AND state = 'canonical' AND number <= :number
ORDER BY number DESC LIMIT 1
""")

# The last version of a deposit by its id, of a payout by its intent.
PUBLISHED_VERSIONS: Final = sql("""
SELECT deposited.*
FROM unnest(CAST(:ids AS uuid[])) AS wanted(id)
CROSS JOIN LATERAL (
    SELECT id, paid_id, version, confirmations_required, waits_for_finality, providers_required
    FROM movement
    WHERE network = :network AND id = wanted.id AND state IS NOT NULL AND paid_id IS NULL
) AS deposited
UNION ALL
SELECT paid.*
FROM unnest(CAST(:paid_ids AS numeric[])) AS wanted(paid_by)
CROSS JOIN LATERAL (
    SELECT id, paid_id, version, confirmations_required, waits_for_finality, providers_required
    FROM movement WHERE network = :network AND paid_id = wanted.paid_by) AS paid
ORDER BY version
""")
TARGETS_AMONG: Final = sql("""
SELECT target.address
FROM unnest(CAST(:addresses AS text[])) AS asked(address)
CROSS JOIN LATERAL (
    SELECT lower(address) AS address FROM deposit_target
    WHERE network = :network AND lower(address) = asked.address) AS target
""")

# Before new blocks take their numbers.
ORPHAN_BLOCKS: Final = sql("""
UPDATE chain_block SET state = 'orphan'
WHERE network = :network AND hash = ANY(CAST(:hashes AS text[])) AND NOT finalized
""")
# A block that was left may become canonical again. Its provider is the one of its first look, or
# of the look that made it canonical again.
SAVE_BLOCKS: Final = sql("""
INSERT INTO chain_block AS kept
  (network, hash, number, parent_hash, time, provider, state, finalized)
SELECT :network, hash, number, parent_hash, time, provider, state,
       state = 'canonical' AND number <= :finalized_number
FROM unnest(
  CAST(:hash AS text[]), CAST(:number AS bigint[]), CAST(:parent_hash AS text[]),
  CAST(:time AS timestamptz[]), CAST(:provider AS text[]), CAST(:state AS text[]))
  AS new(hash, number, parent_hash, time, provider, state)
ON CONFLICT (network, hash) DO UPDATE SET state = excluded.state,
  finalized = excluded.finalized,
  provider = CASE WHEN kept.state = 'orphan' THEN excluded.provider ELSE kept.provider END
""")
FINALIZE_BLOCKS: Final = sql("""
UPDATE chain_block SET finalized = true
WHERE network = :network AND state = 'canonical' AND NOT finalized AND number <= :finalized_number
""")
# The same log again is a new report: of its provider, with that report's payer and memo. A rise
# that is published again has neither transaction nor payer: they are found again.
SAVE_MOVEMENTS: Final = sql("""
INSERT INTO movement AS kept
  (network, block_hash, id, block_number, kind, transaction_hash, token, from_address, to_address,
   base_units, claimed_by, internal, total_before, paid_id, sequence_number, memo,
   quarantine_reason, version, state, confirmations_required, waits_for_finality, counted_number,
   came_after, provider, providers_required)
SELECT :network, new.* FROM unnest(
  CAST(:block_hash AS text[]), CAST(:id AS uuid[]), CAST(:block_number AS bigint[]),
  CAST(:kind AS text[]), CAST(:transaction_hash AS text[]), CAST(:token AS text[]),
  CAST(:from_address AS text[]), CAST(:to_address AS text[]), CAST(:base_units AS numeric[]),
  CAST(:claimed_by AS uuid[]), CAST(:internal AS boolean[]), CAST(:total_before AS numeric[]),
  CAST(:paid_id AS numeric[]),
  CAST(:sequence_number AS bigint[]), CAST(:memo AS text[]), CAST(:quarantine_reason AS text[]),
  CAST(:version AS int[]), CAST(:state AS text[]), CAST(:confirmations_required AS int[]),
  CAST(:waits_for_finality AS boolean[]), CAST(:counted_number AS bigint[]),
  CAST(:came_after AS timestamptz[]), CAST(:provider AS text[]),
  CAST(:providers_required AS smallint[])) AS new
ON CONFLICT (network, block_hash, id) DO UPDATE SET version = excluded.version,
  state = excluded.state, confirmations_required = excluded.confirmations_required,
  waits_for_finality = excluded.waits_for_finality,
  providers_required = excluded.providers_required, withheld_at = NULL,
  transaction_hash = excluded.transaction_hash, from_address = excluded.from_address,
  memo = excluded.memo, claimed_by = excluded.claimed_by,
  internal = excluded.internal, quarantine_reason = excluded.quarantine_reason,
  provider = excluded.provider, verified_at = NULL, trusted_at = NULL
WHERE kept.version < excluded.version
""")
MOVE_MOVEMENTS: Final = sql("""
UPDATE movement SET version = new.version, state = new.state
FROM (SELECT :network AS network, updated.* FROM unnest(
    CAST(:block_hash AS text[]), CAST(:id AS uuid[]), CAST(:version AS int[]),
    CAST(:state AS text[])) AS updated(block_hash, id, version, state)) AS new
WHERE movement.network = new.network AND movement.block_hash = new.block_hash
  AND movement.id = new.id AND movement.version < new.version
""")
# After the outbox: its ids are this session's, the last one handed out is the last of the commit.
# The start may have moved meanwhile: old blocks are deleted beside the follower. A follower of an
# earlier version writes its own start back, so what was deleted counts, too.
ADVANCE: Final = sql("""
UPDATE watch_cursor SET number = :number, hash = :hash, parent_hash = :parent_hash, time = :time,
  finalized_number = :finalized_number,
  start_number = greatest(start_number, :start_number, pruned_number),
  last_outbox_id = CASE WHEN :has_published
    THEN currval(pg_get_serial_sequence('outbox', 'id')) ELSE last_outbox_id END
WHERE network = :network
""")

# A second look at what is final: what is stored of it, and what was missed.
UNCHECKED_RANGE: Final = sql("""
SELECT checked_number, finalized_number FROM watch_cursor
WHERE network = :network AND (halted_at IS NOT NULL) = :is_halted
""")
# The longest run of blocks after a number that one provider reported. A block that was skipped as
# empty was reported with the stored one behind it.
ONE_PROVIDER: Final = sql("""
WITH block AS MATERIALIZED (
    SELECT number, hash, parent_hash, time, provider FROM chain_block
    WHERE network = :network AND state = 'canonical' AND number > :after AND number <= :upto
), first AS (
    SELECT provider FROM block ORDER BY number LIMIT 1
), other AS (
    SELECT min(block.number) AS number FROM block, first
    WHERE block.provider IS DISTINCT FROM first.provider
)
SELECT block.* FROM block, other WHERE other.number IS NULL OR block.number < other.number
ORDER BY block.number DESC LIMIT 1
""")
STORED_MOVEMENTS: Final = sql(f"""
SELECT stored.id
FROM unnest(CAST(:ids AS uuid[])) AS wanted(id)
CROSS JOIN LATERAL (
    SELECT id FROM movement
    WHERE network = :network AND id = wanted.id AND {IS_CANONICAL}) AS stored
""")
# Stored in the very block in which the node reports it. What was taken back there counts; what a
# reorg reverted does not, for its block may have come back.
STORED_HERE: Final = sql(f"""
SELECT stored.id
FROM unnest(CAST(:ids AS uuid[]), CAST(:block_hashes AS text[])) AS wanted(id, block_hash)
CROSS JOIN LATERAL (
    SELECT id FROM movement
    WHERE network = :network AND block_hash = wanted.block_hash AND id = wanted.id
      AND {IS_CANONICAL}) AS stored
""")
# A log is in one block. Published in another one, it is false there.
PUBLISHED_IN_OTHER_BLOCKS: Final = sql(f"""
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM unnest(CAST(:ids AS uuid[]), CAST(:block_hashes AS text[])) AS wanted(id, block_hash)
CROSS JOIN LATERAL (
    SELECT * FROM movement
    WHERE network = :network AND id = wanted.id AND block_hash <> wanted.block_hash
      AND state IN ('seen', 'confirmed') AND {IS_CANONICAL}) AS movement
CROSS JOIN LATERAL (
    SELECT time, parent_hash FROM chain_block
    WHERE network = :network AND hash = movement.block_hash) AS block
""")
PUBLISHED_BETWEEN: Final = sql("""
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM chain_block AS block CROSS JOIN LATERAL (
    SELECT * FROM movement
    WHERE network = block.network AND block_hash = block.hash
      AND state IN ('seen', 'confirmed')) AS movement
WHERE block.network = :network AND block.state = 'canonical'
  AND block.number BETWEEN :first AND :last
ORDER BY block.number, movement.id
""")
CANONICAL_HASHES: Final = sql("""
SELECT block.number, block.hash
FROM unnest(CAST(:numbers AS bigint[])) AS wanted(number)
CROSS JOIN LATERAL (
    SELECT number, hash FROM chain_block
    WHERE network = :network AND state = 'canonical' AND number = wanted.number) AS block
""")
CHECKED_BLOCK: Final = sql("""
SELECT number, hash, parent_hash, time FROM chain_block
WHERE network = :network AND state = 'canonical'
  AND number = (SELECT checked_number FROM watch_cursor WHERE network = :network)
""")
MARK_CHECKED: Final = sql("""
UPDATE watch_cursor SET checked_number = :checked_number,
  revision = revision + CAST(:leaves_open AS int),
  last_outbox_id = CASE WHEN :has_published
    THEN currval(pg_get_serial_sequence('outbox', 'id')) ELSE last_outbox_id END
WHERE network = :network
""")

# After the outbox, as with ADVANCE.
MARK_PUBLISHED: Final = sql("""
UPDATE watch_cursor SET last_outbox_id = currval(pg_get_serial_sequence('outbox', 'id'))
WHERE network = :network
""")
# The follower reads the open ones again.
MARK_REVERTED: Final = sql("""
UPDATE watch_cursor SET revision = revision + 1,
  last_outbox_id = CASE WHEN :has_published
    THEN currval(pg_get_serial_sequence('outbox', 'id')) ELSE last_outbox_id END
WHERE network = :network
""")

# Reverted ones too: an order to take them back may come twice. What stands of a payout in another
# transaction shares its versions, and comes with it.
PUBLISHED_LOGS: Final = sql("""
WITH named AS MATERIALIZED (
    SELECT log.* FROM unnest(CAST(:transaction_hashes AS text[])) AS asked(transaction_hash)
    CROSS JOIN LATERAL (
        SELECT * FROM movement
        WHERE network = :network AND transaction_hash = asked.transaction_hash
          AND state IS NOT NULL AND kind <> 'balance_rose') AS log
)
SELECT movement.*, block.time AS block_time, block.parent_hash
FROM (
    SELECT * FROM named
    UNION
    SELECT paid.* FROM named CROSS JOIN LATERAL (
        SELECT * FROM movement
        WHERE network = :network AND paid_id = named.paid_id AND state <> 'reverted') AS paid
) AS movement
CROSS JOIN LATERAL (
    SELECT time, parent_hash FROM chain_block
    WHERE network = movement.network AND hash = movement.block_hash AND state = 'canonical'
) AS block
ORDER BY movement.block_number, movement.id
""")
MOVEMENTS_OF_BLOCKS: Final = sql("""
SELECT movement.block_hash, movement.id, movement.state, movement.claimed_by
FROM unnest(CAST(:block_hashes AS text[])) AS asked(block_hash)
CROSS JOIN LATERAL (
    SELECT block_hash, id, state, claimed_by FROM movement
    WHERE network = :network AND block_hash = asked.block_hash
      AND transaction_hash = ANY(CAST(:transaction_hashes AS text[]))) AS movement
""")

ADD_TARGETS: Final = sql("""
INSERT INTO deposit_target (network, address, since, looked_at)
SELECT network, address, since, since
FROM unnest(CAST(:network AS text[]), CAST(:address AS text[]), CAST(:since AS timestamptz[]))
     AS new(network, address, since)
ON CONFLICT (network, address) DO NOTHING
""")

ADD_HINTS: Final = sql("""
INSERT INTO hint (network, transaction_hash, due_at, pause, ends_at)
SELECT network, transaction_hash, now() + CAST(:pause AS interval), :pause,
       now() + CAST(:ends_after AS interval)
FROM unnest(CAST(:network AS text[]), CAST(:transaction_hash AS text[]))
     AS new(network, transaction_hash)
ON CONFLICT (network, transaction_hash) DO NOTHING
""")
# Ends hints that were seen, and those that were not seen for long.
END_HINTS: Final = sql("""
DELETE FROM hint WHERE due_at <= now() AND (ends_at <= now() OR (SELECT true FROM movement
    WHERE (movement.network, movement.transaction_hash) = (hint.network, hint.transaction_hash)
        AND movement.state IS NOT NULL LIMIT 1))
""")
REPEAT_HINTS: Final = sql("""
UPDATE hint SET due_at = now() + hint.pause,
    pause = least(hint.pause * 2, CAST(:pause_max AS interval))
FROM (SELECT network, transaction_hash FROM hint WHERE due_at <= now()
    ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED) AS due
WHERE (hint.network, hint.transaction_hash) = (due.network, due.transaction_hash)
RETURNING hint.network
""")

HINTED_TRANSACTIONS: Final = sql("""
SELECT transaction_hash FROM hint WHERE network = :network ORDER BY network, transaction_hash
LIMIT :limit
""")
RISES_WITHOUT_TRANSACTION: Final = sql("""
SELECT rise.*, block.time AS block_time, block.parent_hash FROM (
    SELECT * FROM movement
    WHERE network = :network AND kind = 'balance_rose' AND transaction_hash IS NULL
      AND state <> 'reverted'
    ORDER BY network DESC, block_number DESC LIMIT :limit) AS rise
CROSS JOIN LATERAL (
    SELECT time, parent_hash FROM chain_block
    WHERE network = rise.network AND hash = rise.block_hash) AS block
ORDER BY rise.block_number DESC
""")
SAVE_RISE_TRANSACTIONS: Final = sql("""
UPDATE movement SET version = new.version, transaction_hash = new.transaction_hash,
  from_address = new.from_address
FROM (SELECT :network AS network, updated.* FROM unnest(
    CAST(:block_hash AS text[]), CAST(:id AS uuid[]), CAST(:version AS int[]),
    CAST(:transaction_hash AS text[]), CAST(:from_address AS text[]))
    AS updated(block_hash, id, version, transaction_hash, from_address)) AS new
WHERE movement.network = new.network AND movement.block_hash = new.block_hash
  AND movement.id = new.id AND movement.version < new.version
""")

HALT: Final = sql("""
UPDATE watch_cursor SET halted_at = :at, halt_reason = :reason
WHERE network = :network AND halted_at IS NULL
""")
RESUME: Final = sql("""
WITH halt AS (
    SELECT network, halted_at, halt_reason FROM watch_cursor
    WHERE network = :network AND halted_at IS NOT NULL FOR UPDATE
), gone AS (
    UPDATE watch_cursor SET halted_at = NULL, halt_reason = NULL
    FROM halt WHERE watch_cursor.network = halt.network
)
INSERT INTO past_halt (network, halted_at, resumed_at, reason)
SELECT network, halted_at, now(), halt_reason FROM halt
RETURNING network
""")
HALT_MARK: Final = sql("""
SELECT halted_at, revision, last_outbox_id FROM watch_cursor
WHERE network = :network AND halted_at IS NOT NULL
""")
FIND_HALT: Final = sql("""
SELECT network, halted_at, halt_reason FROM watch_cursor
WHERE network = :network AND halted_at IS NOT NULL
""")
POSITIONS: Final = sql("""
SELECT network, number, hash, parent_hash, time, finalized_number, halted_at, halt_reason
FROM watch_cursor ORDER BY network
""")

# No row where there is no such table. The catalogue is readable without any right to the table.
IS_READER_READABLE: Final = sql("""
SELECT has_schema_privilege(pg_namespace.oid, 'USAGE')
  AND has_table_privilege(pg_class.oid, 'SELECT') AS is_readable
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relname = 'watermark' AND nspname = :schema
""")
# A topic without a watermark was never read: nothing of it can have been paid for.
IS_READ: Final = """
SELECT NOT EXISTS (
    SELECT FROM watch_cursor AS cursor CROSS JOIN {schema}.watermark AS mark
    CROSS JOIN LATERAL (
        SELECT id FROM outbox
        WHERE topic = mark.topic AND (xid, id) > (mark.xid, mark.id)
          AND id <= cursor.last_outbox_id
        LIMIT 1) AS unread
    WHERE cursor.network = :network AND mark.source = current_schema()
      AND mark.consumer = :consumer)
"""

NEW_TARGETS: Final = sql("""
SELECT network, address, since FROM deposit_target
WHERE network = :network AND position IS NULL LIMIT :limit
""")
# Under the cursor's lock: a reader of a position has read everything before it.
ACTIVATE_TARGETS: Final = sql("""
UPDATE deposit_target SET position = nextval('deposit_target_position')
WHERE network = :network AND address = ANY(CAST(:addresses AS text[])) AND position IS NULL
""")
ACTIVE_TARGETS: Final = sql("""
SELECT position, lower(address) AS address FROM deposit_target
WHERE network = :network AND position > :after ORDER BY position
""")
# Young ones are bounded: the newest of them. The others come round as the old ones do.
DUE_ADDRESSES: Final = sql("""
WITH boundary AS MATERIALIZED (
    SELECT coalesce((
        SELECT since FROM deposit_target
        WHERE network = :network AND position IS NOT NULL AND since > :young_since
        ORDER BY since DESC OFFSET :young_max LIMIT 1), :young_since) AS since
)
SELECT found.*, boundary.since AS young_since FROM boundary CROSS JOIN LATERAL (
    (SELECT address, 'young' AS age, counted_number IS NOT NULL AS is_counted FROM deposit_target
     WHERE network = :network AND position IS NOT NULL AND since > boundary.since)
    UNION ALL
    (SELECT address, 'old', true FROM deposit_target
     WHERE network = :network AND position IS NOT NULL AND since <= boundary.since
       AND looked_at <= :old_before
     ORDER BY looked_at LIMIT :old_max)
    UNION ALL
    (SELECT address, 'new', true FROM deposit_target
     WHERE network = :network AND position IS NULL LIMIT 1)) AS found
""")
MARK_COUNTED: Final = sql("""
UPDATE watch_cursor SET counted_number = :number, counted_time = :time,
  counted_since = :young_since
WHERE network = :network
""")
_OF_ADDRESSES: Final = """
FROM (SELECT :network AS network, unnest(CAST(:addresses AS text[])) AS address) AS asked
WHERE deposit_target.network = asked.network AND deposit_target.address = asked.address
"""
MARK_COUNTED_FIRST: Final = sql(f"""
UPDATE deposit_target SET counted_number = :number, counted_time = :time {_OF_ADDRESSES}
""")
MARK_COUNTED_OLD: Final = sql(f"""
UPDATE deposit_target SET looked_at = :at, counted_number = :number, counted_time = :time
{_OF_ADDRESSES}
""")
MARK_INCOMPLETE: Final = sql(f"""
UPDATE deposit_target SET counted_number = NULL, counted_time = NULL {_OF_ADDRESSES}
""")
# What the canonical chain has, and every rise that was ever published. What was denied is in a
# canonical block and reverted.
ADDRESS_TOTALS: Final = sql(f"""
SELECT asked.address, target.since, target.counted_number, target.counted_time,
  coalesce((SELECT sum(movement.base_units) FROM movement
      WHERE movement.network = :network AND movement.to_address = asked.address
        AND movement.kind = 'balance_rose' AND movement.state <> 'reverted'
        AND {IS_CANONICAL}), 0) AS risen,
  coalesce((SELECT sum(movement.base_units) FROM movement
      WHERE movement.network = :network AND movement.from_address = asked.address
        AND movement.kind = 'swept' AND movement.token = :native
        AND movement.state <> 'reverted' AND {IS_CANONICAL}), 0) AS swept
FROM unnest(CAST(:addresses AS text[])) AS asked(address)
LEFT JOIN LATERAL (
    SELECT since, counted_number, counted_time FROM watched_target
    WHERE network = :network AND address = asked.address) AS target ON true
""")
PUBLISHED_RISES: Final = sql("""
SELECT to_address, total_before, base_units, max(block_number) AS block_number FROM movement
WHERE network = :network AND kind = 'balance_rose'
  AND to_address = ANY(CAST(:addresses AS text[]))
GROUP BY to_address, total_before, base_units
""")
