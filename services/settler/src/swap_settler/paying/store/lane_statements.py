"""SQL of the sender lane. Each statement takes arrays: a batch costs a fixed number of them."""

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_settler.model.store.clocks import stopped_or_silent
from swap_settler.model.store.holds import HELD, UNFENCED
from swap_settler.model.store.statements import HALT_REASONS_MAX, IS_PAID_EXTERNALLY
from swap_settler.model.store.table_columns import Columns

# Of payments that were alone in their transactions.
RECIPIENT_REVERTS: Final = """
(SELECT coalesce(sum(known.reverts), 0) FROM intent AS known
    WHERE known.network = intent.network AND known.to_address = intent.to_address
        AND known.reverts > 0 AND known.reverted_at > now() - interval '1 day')
"""
# The watcher saw what is final there change.
_IS_HALTED: Final = """
EXISTS (SELECT 1 FROM chain_watcher.halted_network AS halt WHERE halt.network = :network)
"""
# By an operator or a halt. Read before signed bytes are stored: after it nothing new is signed.
STOPPED: Final = f"""
(EXISTS (SELECT 1 FROM payout_stop WHERE network IN (:network, '*') AND lifted_at IS NULL)
    OR {_IS_HALTED})
"""
HALTED: Final = sql(f"SELECT {_IS_HALTED} AS is_halted")
_MAY_SIGN: Final = f"halted_reason IS NULL AND NOT {STOPPED} AND NOT {UNFENCED}"
# What is paid for a deposit on a network that took back too much of what was paid for: see
# operator/usecases/guard_losses.py. What has a nonce already goes; later nonces would wait for it.
_OVER_BUDGET: Final = """
EXISTS (SELECT FROM source_stop WHERE lifted_at IS NULL)
    AND EXISTS (SELECT FROM swap AS came JOIN source_stop AS held
            ON held.network = came.source_network AND held.lifted_at IS NULL
        WHERE came.id = intent.swap_id)
"""
# Payments that depend on a halted network: on a deposit there, or, for a refund, on the proof that
# a payment there is dead.
_HALTED: Final = """
EXISTS (SELECT FROM chain_watcher.halted_network)
    AND EXISTS (SELECT FROM swap AS came JOIN chain_watcher.halted_network AS halt
            ON halt.network IN (came.source_network, came.destination_network)
        WHERE came.id = intent.swap_id AND (halt.network = came.source_network
            OR EXISTS (SELECT FROM intent AS tried
                JOIN slot_intent AS carried ON carried.intent_id = tried.id
                WHERE tried.swap_id = came.id AND tried.network = halt.network
                    AND tried.kind = 'output' AND tried.state = 'dead')))
"""
SOURCE_STOPPED: Final = f"""
(intent.kind IN ('output', 'refuel', 'refund') AND ({_OVER_BUDGET} OR {_HALTED}) OR {HELD})
"""
# What the lane loads of a payment.
PAYMENT: Final = """intent.id, intent.swap_id, intent.paid_id, intent.token, intent.to_address,
       intent.base_units, intent.failures, intent.goes_alone, intent.payer, intent.call_data"""
WAITING: Final = sql(f"""
SELECT {PAYMENT}, created_at, {RECIPIENT_REVERTS} AS recipient_reverts
FROM intent
WHERE network = :network AND state = 'reserved' AND due_at <= now() AND kind <> 'sweep'
    AND (not_after IS NULL OR not_after > now()) AND NOT {STOPPED} AND NOT {SOURCE_STOPPED}
    -- Permits of one signer have one nonce at a time: the next waits until the one before is mined.
    AND (call_data IS NULL OR substring(call_data FROM 1 FOR 4) <> :permit OR NOT EXISTS (
        SELECT 1 FROM intent AS before WHERE before.kind = 'gasless'
            AND before.state IN ('assigned', 'broadcast')
            AND (before.payer, before.network, before.token)
                = (intent.payer, intent.network, intent.token)))
ORDER BY due_at, id LIMIT :limit
""")
# One payment of a slot stands for all: they are in one transaction.
_IS_IN_NO_BLOCK: Final = """
(SELECT intent.block_number FROM slot_intent JOIN intent ON intent.id = slot_intent.intent_id
    WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
        = (slot.network, slot.signer, slot.nonce) LIMIT 1) IS NULL
"""
# The newest of a slot's transactions counts, also where an older one may still be mined. Joined,
# all that the signer ever signed might be read.
_NEWEST_ATTEMPT: Final = """
CROSS JOIN LATERAL (
    SELECT * FROM attempt
    WHERE (attempt.network, attempt.signer, attempt.nonce) = (slot.network, slot.signer, slot.nonce)
    ORDER BY signed_at DESC LIMIT 1) AS newest
"""
# Each slot asks for its own: joined, all that the signer ever carried might be read.
CARRIED: Final = """
CROSS JOIN LATERAL (
    SELECT intent_id FROM slot_intent
    WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
        = (slot.network, slot.signer, slot.nonce)) AS carried
"""
# What is out and not yet in a block: the most that public nodes keep of one account is bounded.
IN_FLIGHT: Final = sql(f"""
SELECT count(*) AS slots FROM nonce_slot AS slot
WHERE (network, signer) = (:network, :signer) AND closed_at IS NULL AND nonce >= :first
    AND {_IS_IN_NO_BLOCK}
""")
# Intents by id, then the signer, then its slots: the order of all locks.
LOCK_INTENTS: Final = sql(f"""
SELECT id FROM intent
WHERE id = ANY(CAST(:ids AS uuid[])) AND state = 'reserved' AND NOT {SOURCE_STOPPED}
    AND (not_after IS NULL OR not_after > now())
    -- What a parked message says of the swap's deposit, a person has to decide: perhaps it is gone.
    AND NOT EXISTS (SELECT FROM deposit JOIN parked ON parked.consumer = 'settler'
            AND parked.topic = 'deposit.changed.v1'
            AND parked.key = convert_to(CAST(deposit.id AS text), 'UTF8')
        WHERE deposit.swap_id = intent.swap_id AND parked.state IN ('parked', 'releasing'))
ORDER BY id FOR UPDATE
""")
# Not before the database was compared with the chain. A signer that a restored volume lacks would
# look like a new one.
ADD_SIGNER: Final = sql("""
INSERT INTO signer (network, address, next_nonce) SELECT :network, :signer, :nonce
WHERE NOT EXISTS (SELECT FROM recovery_hold AS hold
    WHERE hold.before IS NULL OR :network = ANY(hold.networks))
AND NOT EXISTS (SELECT FROM (SELECT uncompared FROM incarnation ORDER BY id DESC LIMIT 1) AS newest
    WHERE :network = ANY(newest.uncompared))  -- while a recovery is open, the hold names none
ON CONFLICT DO NOTHING
""")
LOCK_SIGNER: Final = sql(f"""
SELECT next_nonce, {_MAY_SIGN} AS may_sign FROM signer
WHERE (network, address) = (:network, :signer) FOR UPDATE
""")
SIGNER: Final = sql(f"""
SELECT {_MAY_SIGN} AS may_sign FROM signer
WHERE (network, address) = (:network, :signer) FOR SHARE
""")
NEXT_NONCE: Final = sql(f"""
SELECT next_nonce FROM signer WHERE (network, address) = (:network, :signer) AND {_MAY_SIGN}
""")
# A chain that lost its newest blocks has the old ones still, and a Treasury that replaced another
# on purpose has the new ones. Among the payments of a signer's first and last slots, so that a long
# history does not make it slow. They are enough that neither open payments nor sweeps hide final
# payments.
OLDEST_AND_NEWEST_PAID: Final = sql("""
SELECT made.paid_id FROM signer
CROSS JOIN LATERAL (
    (SELECT paid.paid_id FROM (
        SELECT nonce, intent_id FROM slot_intent AS carried
        WHERE (carried.network, carried.signer) = (signer.network, signer.address)
        ORDER BY nonce LIMIT 1000) AS first
     CROSS JOIN LATERAL (SELECT paid_id FROM intent WHERE intent.id = first.intent_id
        AND state = 'confirmed' AND paid_id IS NOT NULL) AS paid
     ORDER BY first.nonce LIMIT 6)
    UNION ALL
    (SELECT paid.paid_id FROM (
        SELECT nonce, intent_id FROM slot_intent AS carried
        WHERE (carried.network, carried.signer) = (signer.network, signer.address)
        ORDER BY nonce DESC LIMIT 1000) AS last
     CROSS JOIN LATERAL (SELECT paid_id FROM intent WHERE intent.id = last.intent_id
        AND state = 'confirmed' AND paid_id IS NOT NULL) AS paid
     ORDER BY last.nonce DESC LIMIT 6)) AS made
WHERE signer.network = :network
""")
# A further reason is stored beside the first: one order lifts the halt for all of them.
_HALT: Final = f"""
UPDATE signer SET halted_at = coalesce(halted_at, now()),
    halted_reason = concat_ws('; ', halted_reason, CAST(:reason AS text))
WHERE (network, address) = (:network, :signer) AND (halted_reason IS NULL
    OR position(CAST(:reason AS text) IN halted_reason) = 0
    AND length(halted_reason) < {HALT_REASONS_MAX})
"""
HALT_SIGNER: Final = sql(_HALT)
# An operator may have named the external transactions since they were loaded.
HALT_FOR: Final = sql(f"""
{_HALT} AND EXISTS (SELECT FROM nonce_slot AS slot
    WHERE (slot.network, slot.signer) = (:network, :signer)
        AND slot.nonce = ANY(CAST(:nonces AS bigint[])) AND slot.closed_at IS NULL)
""")
TAKE_NONCES: Final = sql("""
UPDATE signer SET next_nonce = next_nonce + :count WHERE (network, address) = (:network, :signer)
""")
ADD_SLOTS: Final = sql("""
INSERT INTO nonce_slot (network, signer, nonce, assigned_at)
SELECT :network, :signer, nonce, now() FROM unnest(CAST(:nonces AS bigint[])) AS new(nonce)
""")
ADD_SLOT_INTENTS: Final = sql("""
INSERT INTO slot_intent (network, signer, nonce, intent_id)
SELECT :network, :signer, nonce, intent_id
FROM unnest(CAST(:nonce AS bigint[]), CAST(:intent_id AS uuid[])) AS new(nonce, intent_id)
""")
ASSIGN_INTENTS: Final = sql("""
UPDATE intent SET state = 'assigned', slot_at = coalesce(CAST(:at AS timestamptz), now())
WHERE id = ANY(CAST(:ids AS uuid[]))
""")
IS_UNSIGNED: Final = """
NOT EXISTS (SELECT FROM attempt WHERE (attempt.network, attempt.signer, attempt.nonce)
    = (slot.network, slot.signer, slot.nonce))
"""
# A crash between the slot and its signed bytes leaves these; the same slot is used again.
UNSIGNED_SLOTS: Final = sql(f"""
SELECT slot.nonce, {PAYMENT}
FROM nonce_slot AS slot
LEFT JOIN LATERAL (
    SELECT intent.* FROM slot_intent
    LEFT JOIN intent ON intent.id = slot_intent.intent_id AND intent.state = 'assigned'
    WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
        = (slot.network, slot.signer, slot.nonce)) AS intent ON true
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND {IS_UNSIGNED}
    -- What nothing is signed for any more is taken back first.
    AND (intent.not_after IS NULL OR intent.not_after > now()) AND NOT {STOPPED}
    AND NOT EXISTS (SELECT 1 FROM slot_intent AS carried JOIN sweep USING (intent_id)
        WHERE (carried.network, carried.signer, carried.nonce)
            = (slot.network, slot.signer, slot.nonce))
ORDER BY slot.nonce, intent.token, intent.id
""")
# A held payment without a signature leaves its slot for a no-op, so that later nonces do not wait
# for the hold. Not carried any more, it can get another slot.
PUT_BACK_HELD: Final = sql(f"""
WITH carried AS MATERIALIZED (
    SELECT of_slot.place, of_slot.intent_id FROM nonce_slot AS slot CROSS JOIN LATERAL (
        SELECT ctid AS place, intent_id FROM slot_intent
        WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
            = (slot.network, slot.signer, slot.nonce)) AS of_slot
    WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
        AND {IS_UNSIGNED}
), held AS MATERIALIZED (
    SELECT id FROM intent WHERE id = ANY(ARRAY(SELECT intent_id FROM carried))
        AND state = 'assigned' AND {HELD} AND NOT EXISTS (
            SELECT FROM slot_intent AS other JOIN nonce_slot AS slot USING (network, signer, nonce)
            JOIN attempt USING (network, signer, nonce)
            WHERE other.intent_id = intent.id AND slot.closed_at IS NULL)
    ORDER BY id FOR UPDATE
), gone AS (
    -- By place: joined, all that the signer ever carried is read.
    DELETE FROM slot_intent WHERE ctid = ANY(ARRAY(
        SELECT place FROM carried JOIN held ON held.id = carried.intent_id)))
UPDATE intent SET state = 'reserved', slot_at = NULL FROM held WHERE intent.id = held.id
RETURNING intent.id
""")
# Those also that nothing may be signed for now: while there is one, every later nonce waits for it.
HAS_UNSIGNED: Final = sql(f"""
SELECT EXISTS (SELECT FROM nonce_slot AS slot
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND {IS_UNSIGNED}) AS has_any
""")
# Signed bytes are kept only while the slot's live intents are exactly the ones signed for.
LOCK_SIGNED: Final = sql(f"""
SELECT slot_intent.nonce, intent.id FROM intent
JOIN slot_intent ON slot_intent.intent_id = intent.id
WHERE (slot_intent.network, slot_intent.signer) = (:network, :signer)
    AND slot_intent.nonce = ANY(CAST(:nonces AS bigint[])) AND intent.state = 'assigned'
    AND (intent.not_after IS NULL OR intent.not_after > now()) AND NOT {HELD}
ORDER BY intent.id FOR UPDATE OF intent
""")
ATTEMPT_COLUMNS: Final = Columns("""
    transaction_hash text, nonce bigint, raw bytea, max_fee_per_gas numeric,
    max_priority_fee_per_gas numeric, is_cancel boolean""")
ADD_ATTEMPTS: Final = sql(f"""
INSERT INTO attempt ({ATTEMPT_COLUMNS.names}, network, signer, signed_at)
SELECT *, :network, :signer, now() FROM {ATTEMPT_COLUMNS.arrays}
ON CONFLICT (transaction_hash) DO NOTHING
""")
MARK_SENT: Final = sql("""
UPDATE attempt SET first_sent_at = coalesce(first_sent_at, now() - new.sent_ago),
    last_sent_at = greatest(last_sent_at, now() - new.sent_ago)
FROM unnest(CAST(:hash AS text[]), CAST(:sent_ago AS interval[])) AS new(hash, sent_ago)
WHERE attempt.transaction_hash = new.hash
""")
# Here and below: an intent's state is compared after its lookup by id. In one condition, PostgreSQL
# might scan a whole index of live intents.
INTENTS_OF: Final = sql("""
SELECT intent.id, intent.swap_id FROM (
    SELECT network, signer, nonce FROM attempt
    WHERE transaction_hash = ANY(CAST(:hashes AS text[])) AND NOT is_cancel) AS signed
CROSS JOIN LATERAL (
    SELECT intent_id FROM slot_intent
    WHERE (network, signer, nonce) = (signed.network, signed.signer, signed.nonce)) AS slot
CROSS JOIN LATERAL (SELECT * FROM intent WHERE id = slot.intent_id) AS intent
WHERE intent.state = 'assigned' AND (SELECT closed_at FROM nonce_slot
    WHERE (network, signer, nonce) = (signed.network, signed.signer, signed.nonce)) IS NULL
""")
OPEN_SIGNED: Final = sql(f"""
SELECT slot.nonce, newest.max_fee_per_gas, newest.max_priority_fee_per_gas, newest.is_cancel,
       now() - newest.signed_at AS signed_for,
       -- The clock of a payment stands still while nothing may be signed for it, and while its
       -- chain makes no blocks.
       now() - slot.assigned_at - {stopped_or_silent(since="slot.assigned_at", networks=":network")}
           AS assigned_for,
       unfounded.is_unfounded
FROM nonce_slot AS slot {_NEWEST_ATTEMPT} CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT 1 FROM (
            SELECT intent_id FROM slot_intent
            WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
                = (slot.network, slot.signer, slot.nonce)) AS carried
        CROSS JOIN LATERAL (SELECT * FROM intent WHERE id = carried.intent_id) AS intent
        LEFT JOIN deposit ON deposit.swap_id = intent.swap_id
        WHERE intent.state IN ('assigned', 'broadcast')
            AND (intent.not_after <= now()
                OR intent.kind <> 'gasless' AND deposit.is_booked AND deposit.state <> 'credited'
                AND CASE WHEN intent.deposit_id IS NULL
                    THEN deposit.returned_base_units < deposit.base_units
                    ELSE deposit.id = intent.deposit_id END)) AS is_unfounded) AS unfounded
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND slot.nonce >= :lowest AND (slot.nonce = :lowest OR unfounded.is_unfounded)
ORDER BY slot.nonce
""")
PAYMENTS_ON: Final = sql(f"""
SELECT slot_intent.nonce, {PAYMENT}, sweep.sequence_number AS sweep_of
FROM slot_intent JOIN intent ON intent.id = slot_intent.intent_id
LEFT JOIN sweep ON sweep.intent_id = intent.id
WHERE (slot_intent.network, slot_intent.signer) = (:network, :signer)
    AND slot_intent.nonce = ANY(CAST(:nonces AS bigint[]))
    AND intent.state IN ('assigned', 'broadcast')
ORDER BY slot_intent.nonce, intent.token, intent.id
""")
# Locked like what is signed first; what a block has of them is not replaced.
LOCK_REPLACED: Final = sql("""
SELECT intent.id, intent.state FROM intent
JOIN slot_intent ON slot_intent.intent_id = intent.id
WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce) = (:network, :signer, :nonce)
    AND intent.state <> 'dead'
ORDER BY intent.id FOR UPDATE OF intent
""")
# Signed and perhaps lost: never sent, or sent a while ago and still in no block. What was signed
# just now is perhaps sent, and not marked yet.
UNMINED: Final = sql(f"""
SELECT newest.transaction_hash, newest.raw, newest.nonce
-- What was replaced is refused by the nodes that have its replacement.
FROM nonce_slot AS slot {_NEWEST_ATTEMPT}
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND coalesce(newest.last_sent_at < now() - :older_than,
                 newest.signed_at < now() - least(:older_than, interval '2 seconds'))
    AND {_IS_IN_NO_BLOCK}
ORDER BY slot.nonce LIMIT :limit
""")
OPEN_SLOTS: Final = sql("""
SELECT slot.nonce, signed.transaction_hash, signed.is_cancel FROM nonce_slot AS slot
CROSS JOIN LATERAL (
    SELECT transaction_hash, is_cancel FROM attempt
    WHERE (attempt.network, attempt.signer, attempt.nonce)
        = (slot.network, slot.signer, slot.nonce)) AS signed
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND slot.nonce < :below
ORDER BY slot.nonce LIMIT :limit
""")
INTENTS_ON: Final = sql("""
SELECT intent.id, intent.swap_id FROM slot_intent
CROSS JOIN LATERAL (SELECT * FROM intent WHERE id = slot_intent.intent_id) AS intent
WHERE (slot_intent.network, slot_intent.signer) = (:network, :signer)
    AND slot_intent.nonce = ANY(CAST(:nonces AS bigint[])) AND intent.kind <> 'sweep'
    AND intent.state IN ('assigned', 'broadcast')
""")
RELAYS_ON: Final = sql(f"""
SELECT slot_intent.nonce, {PAYMENT}
FROM slot_intent
CROSS JOIN LATERAL (SELECT * FROM intent WHERE id = slot_intent.intent_id) AS intent
WHERE (slot_intent.network, slot_intent.signer) = (:network, :signer)
    AND slot_intent.nonce = ANY(CAST(:nonces AS bigint[])) AND intent.kind = 'gasless'
    AND intent.state IN ('assigned', 'broadcast', 'mined')
""")
CLOSE_SLOTS: Final = sql("""
UPDATE nonce_slot SET closed_at = now(), final_number = :final_number, final_hash = :final_hash,
    witnesses = new.witnesses
-- The signer comes with each nonce: given once, all of its slots might be read.
FROM (SELECT CAST(:network AS text) AS network, CAST(:signer AS text) AS signer, *
    FROM unnest(CAST(:nonces AS bigint[]), CAST(:witnesses AS jsonb[])) AS closed(nonce, witnesses)
) AS new
WHERE (nonce_slot.network, nonce_slot.signer, nonce_slot.nonce)
    = (new.network, new.signer, new.nonce)
""")
ADD_RECEIPTS: Final = sql("""
INSERT INTO receipt (network, transaction_hash, block_hash, block_number, status, fee_base_units)
SELECT :network, * FROM unnest(CAST(:transaction_hash AS text[]), CAST(:block_hash AS text[]),
    CAST(:block_number AS bigint[]), CAST(:status AS int[]), CAST(:fee_base_units AS numeric[]))
ON CONFLICT DO NOTHING
""")
ADD_SIGNER_TRANSACTIONS: Final = sql("""
INSERT INTO signer_transaction (network, signer, nonce, transaction_hash)
SELECT :network, :signer, * FROM unnest(CAST(:nonce AS bigint[]),
    CAST(:transaction_hash AS text[]))
ON CONFLICT DO NOTHING
""")
# Those that nothing signed can pay: another lane may have sent one since it was tried.
UNSENT_FAILURES: Final = sql("""
SELECT id, failures FROM intent
WHERE id = ANY(CAST(:ids AS uuid[])) AND state = 'reserved' AND NOT EXISTS (
    SELECT 1 FROM slot_intent JOIN nonce_slot AS slot USING (network, signer, nonce)
    WHERE slot_intent.intent_id = intent.id AND slot.closed_at IS NULL)
ORDER BY id FOR UPDATE
""")
# Including those with a nonce and without bytes: ending them leaves a slot for a no-op.
UNSIGNED_FAILURES: Final = sql(f"""
SELECT id, failures FROM intent
WHERE id = ANY(CAST(:ids AS uuid[])) AND state IN ('reserved', 'assigned') AND NOT EXISTS (
    SELECT 1 FROM slot_intent AS carried JOIN nonce_slot AS slot USING (network, signer, nonce)
    JOIN attempt USING (network, signer, nonce)
    WHERE carried.intent_id = intent.id AND slot.closed_at IS NULL) AND NOT {IS_PAID_EXTERNALLY}
ORDER BY id FOR UPDATE
""")
DEAD_FAILURES: Final = sql("""
SELECT id, failures FROM intent
WHERE id = ANY(CAST(:ids AS uuid[])) AND state IN ('assigned', 'broadcast')
ORDER BY id FOR UPDATE
""")
# A failed payment waits for its retry, in a separate slot.
POSTPONE: Final = sql("""
WITH gone AS (DELETE FROM outflow_queue WHERE intent_id = ANY(CAST(:id AS uuid[])))
UPDATE intent SET state = 'reserved', slot_at = NULL, goes_alone = true,
    failures = new.failures, due_at = now() + new.pause
FROM unnest(CAST(:id AS uuid[]), CAST(:failures AS int[]), CAST(:pause AS interval[]))
     AS new(id, failures, pause)
WHERE intent.id = new.id AND intent.state IN ('reserved', 'assigned', 'broadcast')
""")
# Nothing is wrong with these: the Treasury pays them another time.
QUEUE: Final = sql("""
WITH gone AS (DELETE FROM outflow_queue WHERE intent_id = ANY(CAST(:ids AS uuid[])))
UPDATE intent SET due_at = now() + :pause
WHERE id = ANY(CAST(:ids AS uuid[])) AND state = 'reserved'
""")
# Its only writer is the lane that reads it.
SIGNER_BALANCE: Final = sql("""
SELECT coalesce(sum(balance), 0) AS balance FROM account
WHERE kind = 'custody' AND (network, address, token) = (:network, :address, :token)
""")
OLDEST_UNPAID: Final = sql("""
SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0) AS seconds FROM intent
WHERE network = :network AND state IN ('reserved', 'assigned', 'broadcast', 'mined')
    AND kind <> 'sweep'
""")
SNAPSHOTS_KEPT: Final = 1000
DROP_SNAPSHOTS: Final = sql("""
DELETE FROM balance_snapshot WHERE network = :network AND block_number < :block_number
""")
ADD_SNAPSHOTS: Final = sql("""
INSERT INTO balance_snapshot (network, address, token, block_number, block_hash, balance)
SELECT :network, address, token, :block_number, :block_hash, balance
FROM unnest(CAST(:address AS text[]), CAST(:token AS text[]), CAST(:balance AS numeric[]))
     AS new(address, token, balance)
ON CONFLICT DO NOTHING
""")
# The ledger has everything up to the watched final block once every message of it is in the inbox,
# and none of them is parked.
# What is at or below the sweep's watermark is; only the rows after it are looked up.
LEDGER_PASSED: Final = sql("""
SELECT progress.final_number FROM chain_watcher.progress AS progress
WHERE progress.network = :network AND NOT EXISTS (
    SELECT 1 FROM (VALUES ('deposit.changed.v1'), ('payout.changed.v1')) AS consumed(topic)
    LEFT JOIN watermark ON watermark.source = 'chain_watcher' AND watermark.topic = consumed.topic
    JOIN chain_watcher.outbox AS sent ON sent.topic = consumed.topic
        AND (sent.xid, sent.id) > (coalesce(watermark.xid, '0'), coalesce(watermark.id, 0))
    WHERE sent.id <= progress.last_outbox_id
        AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.message_id = sent.message_id))
    AND NOT EXISTS (SELECT 1 FROM parked WHERE state IN ('parked', 'releasing')
        AND topic IN ('deposit.changed.v1', 'payout.changed.v1'))
    AND NOT EXISTS (SELECT 1 FROM swept WHERE swept.network = :network
        AND state = 'confirmed' AND NOT is_booked AND NOT is_quarantined
        AND block_number <= progress.final_number)
    AND NOT EXISTS (SELECT 1 FROM withdrawal WHERE withdrawal.network = :network
        AND state = 'confirmed' AND NOT is_booked AND block_number <= progress.final_number)
""")
MOVE_LEDGER_CURSOR: Final = sql("""
INSERT INTO ledger_cursor (network, number) VALUES (:network, :number)
ON CONFLICT (network) DO UPDATE SET number = excluded.number
WHERE ledger_cursor.number < excluded.number
""")
# What another paid did not revert because of its recipient.
COUNT_REVERTS: Final = sql("""
UPDATE intent SET reverts = reverts + 1, reverted_at = now()
FROM (SELECT (array_agg(intent_id))[1] AS id FROM slot_intent
    WHERE (network, signer) = (:network, :signer) AND nonce = ANY(CAST(:nonces AS bigint[]))
    GROUP BY nonce HAVING count(*) = 1) AS alone
WHERE intent.id = alone.id AND intent.id <> ALL(CAST(:besides AS uuid[]))
    AND intent.kind IN ('output', 'refuel', 'refund', 'claim', 'partner_fee')
RETURNING intent.id, intent.reverts
""")
UNPROVEN: Final = sql(f"""
SELECT intent.to_address, count(*) AS payments FROM nonce_slot AS slot {CARRIED}
CROSS JOIN LATERAL (SELECT * FROM intent WHERE id = carried.intent_id) AS intent
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND intent.state IN ('assigned', 'broadcast')
    AND intent.to_address = ANY(CAST(:addresses AS text[]))
GROUP BY intent.to_address
""")
