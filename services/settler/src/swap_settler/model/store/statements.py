"""SQL by which a batch is locked and written. Each statement takes arrays, not one row."""

from typing import Final

from swap_runtime.postgres.sql import sql

# Sorted, and held to the end of the transaction: the first in the order of all locks.
LOCK_KEYS: Final = sql("""
SELECT pg_advisory_xact_lock(lock) FROM (
    SELECT DISTINCT hashtextextended(key, 0) AS lock
    FROM unnest(CAST(:keys AS text[])) AS wanted(key) ORDER BY lock
) AS sorted
""")
ADD_ATTACHMENT: Final = sql("""
UPDATE deposit SET attached_by = :by, attached_because = :because WHERE id = :id
""")
ADD_INVENTORY: Final = sql("""
INSERT INTO inventory (network, token)
SELECT network, token FROM unnest(CAST(:networks AS text[]), CAST(:tokens AS text[]))
     AS new(network, token) ORDER BY network, token
ON CONFLICT DO NOTHING
""")
LOCK_INVENTORY: Final = sql("""
SELECT network, token, held_base_units, owed_base_units, version FROM inventory
JOIN unnest(CAST(:networks AS text[]), CAST(:tokens AS text[])) AS wanted(network, token)
    USING (network, token)
ORDER BY network, token FOR UPDATE OF inventory
""")
UPSERT_SWAPS: Final = sql("""
INSERT INTO swap (
    id, app_id, sequence_number, match_key, sequence, status, method,
    source_network, source_token, source_decimals,
    destination_network, destination_token, destination_decimals,
    source_address, destination_address, refund_address, reference_id,
    requested_base_units, payout_base_units, fee_base_units, quote, quote_revision,
    quote_expires_at, last_requoted_at, quote_locked_at, fail_reason,
    created_at, expires_at, changed_at, closed_at, trace_id)
SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:app_id AS uuid[]), CAST(:sequence_number AS bigint[]),
    CAST(:match_key AS text[]), CAST(:sequence AS int[]), CAST(:status AS text[]),
    CAST(:method AS text[]),
    CAST(:source_network AS text[]), CAST(:source_token AS text[]),
    CAST(:source_decimals AS int[]),
    CAST(:destination_network AS text[]), CAST(:destination_token AS text[]),
    CAST(:destination_decimals AS int[]),
    CAST(:source_address AS text[]), CAST(:destination_address AS text[]),
    CAST(:refund_address AS text[]), CAST(:reference_id AS text[]),
    CAST(:requested_base_units AS numeric[]), CAST(:payout_base_units AS numeric[]),
    CAST(:fee_base_units AS numeric[]), CAST(:quote AS jsonb[]), CAST(:quote_revision AS int[]),
    CAST(:quote_expires_at AS timestamptz[]), CAST(:last_requoted_at AS timestamptz[]),
    CAST(:quote_locked_at AS timestamptz[]), CAST(:fail_reason AS text[]),
    CAST(:created_at AS timestamptz[]), CAST(:expires_at AS timestamptz[]),
    CAST(:changed_at AS timestamptz[]), CAST(:closed_at AS timestamptz[]),
    CAST(:trace_id AS text[]))
ON CONFLICT (id) DO UPDATE SET
    sequence = excluded.sequence, status = excluded.status,
    refund_address = excluded.refund_address,
    requested_base_units = excluded.requested_base_units,
    payout_base_units = excluded.payout_base_units, fee_base_units = excluded.fee_base_units,
    quote = excluded.quote, quote_revision = excluded.quote_revision,
    quote_expires_at = excluded.quote_expires_at, last_requoted_at = excluded.last_requoted_at,
    quote_locked_at = excluded.quote_locked_at,
    fail_reason = excluded.fail_reason, expires_at = excluded.expires_at,
    changed_at = excluded.changed_at, closed_at = excluded.closed_at
""")
ADD_TRANSITIONS: Final = sql("""
INSERT INTO swap_transition (swap_id, sequence, from_status, to_status, at, cause)
SELECT * FROM unnest(CAST(:swap_id AS uuid[]), CAST(:sequence AS int[]),
    CAST(:from_status AS text[]), CAST(:to_status AS text[]), CAST(:at AS timestamptz[]),
    CAST(:cause AS text[]))
""")
UPSERT_DEPOSITS: Final = sql("""
INSERT INTO deposit AS known (
    id, swap_id, match_key, version, state, method, network, token, base_units,
    returned_base_units, is_booked, transaction_hash, block_number, block_hash, block_time,
    from_address, to_address, confirmations_required, sequence_number, memo, quarantine_reason,
    heard_at, attached_at, came_after)
SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:swap_id AS uuid[]), CAST(:match_key AS text[]),
    CAST(:version AS int[]), CAST(:state AS text[]), CAST(:method AS text[]),
    CAST(:network AS text[]), CAST(:token AS text[]), CAST(:base_units AS numeric[]),
    CAST(:returned_base_units AS numeric[]), CAST(:is_booked AS boolean[]),
    CAST(:transaction_hash AS text[]), CAST(:block_number AS bigint[]),
    CAST(:block_hash AS text[]), CAST(:block_time AS timestamptz[]),
    CAST(:from_address AS text[]), CAST(:to_address AS text[]),
    CAST(:confirmations_required AS int[]), CAST(:sequence_number AS bigint[]),
    CAST(:memo AS text[]), CAST(:quarantine_reason AS text[]), CAST(:heard_at AS timestamptz[]),
    CAST(:attached_at AS timestamptz[]), CAST(:came_after AS timestamptz[]))
-- What it names and who sent it may be corrected, after a node lied: no log of a token has either.
ON CONFLICT (id) DO UPDATE SET
    swap_id = excluded.swap_id, match_key = excluded.match_key, method = excluded.method,
    sequence_number = excluded.sequence_number, memo = excluded.memo,
    quarantine_reason = excluded.quarantine_reason,
    version = excluded.version, state = excluded.state,
    returned_base_units = excluded.returned_base_units, is_booked = excluded.is_booked,
    transaction_hash = excluded.transaction_hash, block_number = excluded.block_number,
    block_hash = excluded.block_hash, block_time = excluded.block_time,
    from_address = excluded.from_address,
    confirmations_required = excluded.confirmations_required,
    attached_at = excluded.attached_at, came_after = excluded.came_after
WHERE known.version <= excluded.version
""")
# Slots, failures and due times belong to the sender lane.
UPSERT_INTENTS: Final = sql("""
INSERT INTO intent (
    id, paid_id, swap_id, deposit_id, kind, network, token, to_address, base_units,
    charged_base_units, usd_micros, state, due_at, created_at, slot_at, transaction_hash,
    block_number,
    block_hash, block_time, version, confirmed_at, dead_proof, payer, call_data, not_after, app_id)
SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:paid_id AS numeric[]), CAST(:swap_id AS uuid[]),
    CAST(:deposit_id AS uuid[]), CAST(:kind AS text[]), CAST(:network AS text[]),
    CAST(:token AS text[]), CAST(:to_address AS text[]), CAST(:base_units AS numeric[]),
    CAST(:charged_base_units AS numeric[]), CAST(:usd_micros AS bigint[]),
    CAST(:state AS text[]), CAST(:due_at AS timestamptz[]), CAST(:created_at AS timestamptz[]),
    CAST(:slot_at AS timestamptz[]), CAST(:transaction_hash AS text[]),
    CAST(:block_number AS bigint[]), CAST(:block_hash AS text[]),
    CAST(:block_time AS timestamptz[]), CAST(:version AS int[]),
    CAST(:confirmed_at AS timestamptz[]), CAST(:dead_proof AS jsonb[]),
    CAST(:payer AS text[]), CAST(:call_data AS bytea[]), CAST(:not_after AS timestamptz[]),
    CAST(:app_id AS uuid[]))
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, charged_base_units = excluded.charged_base_units,
    transaction_hash = excluded.transaction_hash,
    block_number = excluded.block_number, block_hash = excluded.block_hash,
    block_time = excluded.block_time, version = excluded.version,
    confirmed_at = excluded.confirmed_at, dead_proof = excluded.dead_proof,
    slot_at = CASE WHEN excluded.state = 'reserved' THEN NULL ELSE intent.slot_at END
""")
UPSERT_AUTHORIZATIONS: Final = sql("""
INSERT INTO gasless_authorization (
    swap_id, submission, intent_id, standard, signer, base_units, nonce, valid_after,
    valid_before, status, detail, transaction_hash, submitted_at)
SELECT * FROM unnest(
    CAST(:swap_id AS uuid[]), CAST(:submission AS int[]), CAST(:intent_id AS uuid[]),
    CAST(:standard AS text[]), CAST(:signer AS text[]), CAST(:base_units AS numeric[]),
    CAST(:nonce AS text[]), CAST(:valid_after AS bigint[]), CAST(:valid_before AS bigint[]),
    CAST(:status AS text[]), CAST(:detail AS text[]), CAST(:transaction_hash AS text[]),
    CAST(:submitted_at AS timestamptz[]))
ON CONFLICT (swap_id, submission) DO UPDATE SET
    status = excluded.status, detail = excluded.detail,
    transaction_hash = excluded.transaction_hash
""")
# A payment that signed bytes may still make must not be ended. It would also always be found before
# all others.
MAY_BE_OUT: Final = """
EXISTS (SELECT FROM slot_intent AS carried CROSS JOIN LATERAL (
        SELECT FROM nonce_slot AS slot JOIN attempt USING (network, signer, nonce)
        WHERE (slot.network, slot.signer, slot.nonce)
                = (carried.network, carried.signer, carried.nonce)
            AND slot.closed_at IS NULL AND NOT attempt.is_cancel) AS signed
    WHERE carried.intent_id = intent.id)
"""
# The Treasury has paid its id without us, as the ledger has it.
IS_PAID_EXTERNALLY: Final = """
EXISTS (SELECT FROM account JOIN posting ON posting.account_id = account.id
        JOIN ledger_transaction AS paid ON paid.id = posting.transaction_id
    WHERE (account.kind, account.network) = ('payout_suspense', intent.network)
        AND starts_with(paid.dedupe_key,
            concat('payout_unexplained/', intent.network, '/', intent.paid_id, '/')))
"""
LAPSED: Final = sql(f"""
SELECT swap_id FROM intent
WHERE kind = 'gasless' AND state IN ('reserved', 'assigned') AND not_after <= :now
    AND NOT {MAY_BE_OUT}
ORDER BY not_after LIMIT :limit
""")
REVERTED_RELAYS: Final = sql("""
SELECT payer, count(*) AS reverted FROM intent
WHERE kind = 'gasless' AND state = 'dead' AND payer = ANY(CAST(:signers AS text[]))
    AND slot_at > now() - interval '1 day'
GROUP BY payer
""")
# Nothing was signed for its nonce, which others may share: what is signed there now is not for it.
LEAVE_UNSIGNED: Final = sql("""
DELETE FROM slot_intent USING nonce_slot AS slot
WHERE slot_intent.intent_id = ANY(CAST(:ids AS uuid[])) AND slot.closed_at IS NULL
    AND (slot.network, slot.signer, slot.nonce)
        = (slot_intent.network, slot_intent.signer, slot_intent.nonce)
    AND NOT EXISTS (SELECT FROM attempt WHERE (attempt.network, attempt.signer, attempt.nonce)
        = (slot.network, slot.signer, slot.nonce))
""")
# The reason is stored in full, because it explains later where the money went.
PROVE_DEAD: Final = sql("""
UPDATE intent SET dead_proof = dead_proof || jsonb_build_object('slots', coalesce((
    SELECT jsonb_agg(jsonb_build_object(
        'signer', slot.signer, 'nonce', slot.nonce,
        'attempts', (SELECT coalesce(jsonb_agg(transaction_hash ORDER BY signed_at), '[]')
            FROM attempt WHERE (attempt.network, attempt.signer, attempt.nonce)
                = (slot.network, slot.signer, slot.nonce)),
        'consumed_by', consumed.transaction_hash, 'succeeded', receipt.status = 1,
        'block_number', receipt.block_number, 'block_hash', receipt.block_hash,
        'final_number', slot.final_number, 'final_hash', slot.final_hash,
        'witnesses', slot.witnesses) ORDER BY slot.signer, slot.nonce)
    FROM slot_intent
    JOIN nonce_slot AS slot USING (network, signer, nonce)
    LEFT JOIN signer_transaction AS consumed USING (network, signer, nonce)
    LEFT JOIN receipt ON (receipt.network, receipt.transaction_hash)
        = (slot.network, consumed.transaction_hash)
    WHERE slot_intent.intent_id = intent.id), '[]'))
WHERE id = ANY(CAST(:ids AS uuid[]))
""")
# Accounts are inserted or found, and locked, in the order of their columns. A later statement moves
# the balance, because an inserted row is checked before the conflict is detected.
LOCK_ACCOUNTS: Final = sql("""
INSERT INTO account (kind, network, token, swap_id, deposit_id, holder, address, app_id)
SELECT kind, network, token, swap_id, deposit_id, holder, address, app_id
FROM unnest(
    CAST(:kind AS text[]), CAST(:network AS text[]), CAST(:token AS text[]),
    CAST(:swap_id AS uuid[]), CAST(:deposit_id AS uuid[]), CAST(:holder AS text[]),
    CAST(:address AS text[]), CAST(:app_id AS uuid[]))
    WITH ORDINALITY AS new(kind, network, token, swap_id, deposit_id, holder, address, app_id, n)
ORDER BY n
ON CONFLICT (kind, network, token, swap_id, deposit_id, address, app_id) DO UPDATE
SET holder = excluded.holder
""")
ADD_LEDGER_TRANSACTIONS: Final = sql("""
INSERT INTO ledger_transaction (id, kind, swap_id, dedupe_key, network, effective_block, at)
SELECT id, kind, swap_id, dedupe_key, network, effective_block, now()
FROM unnest(CAST(:id AS uuid[]), CAST(:kind AS text[]), CAST(:swap_id AS uuid[]),
    CAST(:dedupe_key AS text[]), CAST(:network AS text[]), CAST(:effective_block AS bigint[]))
     AS new(id, kind, swap_id, dedupe_key, network, effective_block)
""")
_OWNERS: Final = ("swap_id", "deposit_id", "address", "app_id")  # as they stand in the index


def _owned_by(n: int) -> str:
    """Return the lookup of an account by its nth owner column, if the earlier ones are NULL.

    That one is compared with `=` and those before it with IS NULL, so that the index is used. It
    cannot be used for IS NOT DISTINCT FROM.
    """
    none = (f"wanted.{one} IS NULL AND account.{one} IS NULL" for one in _OWNERS[:n])
    first = (f"account.{one} = wanted.{one}" for one in _OWNERS[n : n + 1])
    rest = (f"account.{one} IS NOT DISTINCT FROM wanted.{one}" for one in _OWNERS[n + 1 :])
    return f"""
    SELECT id FROM account WHERE (account.kind, account.network, account.token)
        = (wanted.kind, wanted.network, wanted.token) AND {" AND ".join((*none, *first, *rest))}"""


# For locked accounts: no statement waits for their ids. One that is not found is NULL, which no
# posting may have, so that none takes the place of another.
BOOK: Final = sql(f"""
WITH locked AS MATERIALIZED (
    SELECT array_agg(found.id ORDER BY wanted.n) AS ids FROM unnest(
        CAST(:kind AS text[]), CAST(:network AS text[]), CAST(:token AS text[]),
        CAST(:swap_id AS uuid[]), CAST(:deposit_id AS uuid[]), CAST(:address AS text[]),
        CAST(:app_id AS uuid[]))
        WITH ORDINALITY AS wanted(kind, network, token, swap_id, deposit_id, address, app_id, n)
    LEFT JOIN LATERAL ({" UNION ALL ".join(map(_owned_by, range(len(_OWNERS) + 1)))}) AS found
        ON true
), moved AS (
    UPDATE account SET balance = account.balance + new.base_units
    FROM locked, unnest(CAST(:moved AS numeric[])) WITH ORDINALITY AS new(base_units, n)
    WHERE account.id = locked.ids[new.n] AND new.base_units <> 0
)
INSERT INTO posting (transaction_id, n, account_id, base_units)
SELECT new.transaction_id, new.n, locked.ids[new.account_n], new.base_units
FROM locked, unnest(CAST(:transaction_id AS uuid[]), CAST(:n AS int[]),
    CAST(:account_n AS int[]), CAST(:base_units AS numeric[]))
    AS new(transaction_id, n, account_n, base_units)
""")
MOVE_INVENTORY: Final = sql("""
UPDATE inventory SET held_base_units = new.held, owed_base_units = new.owed, version = new.version
FROM unnest(CAST(:network AS text[]), CAST(:token AS text[]), CAST(:held AS numeric[]),
    CAST(:owed AS numeric[]), CAST(:version AS int[])) AS new(network, token, held, owed, version)
WHERE (inventory.network, inventory.token) = (new.network, new.token)
""")
# A further reason is stored beside the first; an operator lifts them together.
HALT_REASONS_MAX: Final = 4000  # characters; later ones are logged only
HALT_SIGNERS: Final = sql(f"""
UPDATE signer SET halted_at = coalesce(halted_at, now()),
    halted_reason = concat_ws('; ', halted_reason, new.reason)
FROM unnest(CAST(:network AS text[]), CAST(:reason AS text[]), CAST(:at AS timestamptz[]))
     AS new(network, reason, at)
WHERE signer.network = new.network AND (halted_reason IS NULL
        -- A payment from before a restore is what its recovery looks for.
        AND NOT EXISTS (SELECT FROM recovery WHERE ended_at IS NULL AND new.at < began_at)
    OR position(new.reason IN halted_reason) = 0 AND length(halted_reason) < {HALT_REASONS_MAX})
""")
