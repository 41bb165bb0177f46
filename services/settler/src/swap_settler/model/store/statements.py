"""SQL by which a batch is locked and written. Each statement takes arrays, not one row."""

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_settler.model.store.table_columns import Columns, new_values

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
SWAP_COLUMNS: Final = Columns("""
    id uuid, app_id uuid, sequence_number bigint, match_key text, sequence int, status text,
    method text, source_network text, source_token text, source_decimals int,
    destination_network text, destination_token text, destination_decimals int,
    source_address text, destination_address text, refund_address text, reference_id text,
    requested_base_units numeric, payout_base_units numeric, fee_base_units numeric,
    quote jsonb, quote_revision int, quote_expires_at timestamptz, last_requoted_at timestamptz,
    quote_locked_at timestamptz, fail_reason text, created_at timestamptz, expires_at timestamptz,
    changed_at timestamptz, closed_at timestamptz, trace_id text""")
_SWAP_CHANGES: Final = """
    sequence, status, refund_address, requested_base_units, payout_base_units, fee_base_units,
    quote, quote_revision, quote_expires_at, last_requoted_at, quote_locked_at, fail_reason,
    expires_at, changed_at, closed_at"""
UPSERT_SWAPS: Final = sql(f"""
{SWAP_COLUMNS.insert_into("swap")}
ON CONFLICT (id) DO UPDATE SET {new_values(_SWAP_CHANGES)}
""")
TRANSITION_COLUMNS: Final = Columns("""
    swap_id uuid, sequence int, from_status text, to_status text, at timestamptz, cause text""")
ADD_TRANSITIONS: Final = sql(TRANSITION_COLUMNS.insert_into("swap_transition"))
DEPOSIT_COLUMNS: Final = Columns("""
    id uuid, swap_id uuid, match_key text, version int, state text, method text, network text,
    token text, base_units numeric, returned_base_units numeric, is_booked boolean,
    transaction_hash text, block_number bigint, block_hash text, block_time timestamptz,
    from_address text, to_address text, confirmations_required int, sequence_number bigint,
    memo text, quarantine_reason text, heard_at timestamptz, attached_at timestamptz,
    came_after timestamptz""")
# What it names and who sent it may be corrected, after a node lied: no log of a token has either.
_DEPOSIT_CHANGES: Final = """
    swap_id, match_key, method, sequence_number, memo, quarantine_reason, version, state,
    returned_base_units, is_booked, transaction_hash, block_number, block_hash, block_time,
    from_address, confirmations_required, attached_at, came_after"""
UPSERT_DEPOSITS: Final = sql(f"""
{DEPOSIT_COLUMNS.insert_into("deposit AS known")}
ON CONFLICT (id) DO UPDATE SET {new_values(_DEPOSIT_CHANGES)}
WHERE known.version <= excluded.version
""")
INTENT_COLUMNS: Final = Columns("""
    id uuid, paid_id numeric, swap_id uuid, deposit_id uuid, kind text, network text, token text,
    to_address text, base_units numeric, charged_base_units numeric, usd_micros bigint, state text,
    due_at timestamptz, created_at timestamptz, slot_at timestamptz, transaction_hash text,
    block_number bigint, block_hash text, block_time timestamptz, version int,
    confirmed_at timestamptz, dead_proof jsonb, payer text, call_data bytea,
    not_after timestamptz, app_id uuid""")
# Slots, failures and due times belong to the sender lane.
_INTENT_CHANGES: Final = """
    state, charged_base_units, transaction_hash, block_number, block_hash, block_time,
    version, confirmed_at, dead_proof"""
UPSERT_INTENTS: Final = sql(f"""
{INTENT_COLUMNS.insert_into("intent")}
ON CONFLICT (id) DO UPDATE SET {new_values(_INTENT_CHANGES)},
    slot_at = CASE WHEN excluded.state = 'reserved' THEN NULL ELSE intent.slot_at END
""")
AUTHORIZATION_COLUMNS: Final = Columns("""
    swap_id uuid, submission int, intent_id uuid, standard text, signer text, base_units numeric,
    nonce text, valid_after bigint, valid_before bigint, status text, detail text,
    transaction_hash text, submitted_at timestamptz""")
UPSERT_AUTHORIZATIONS: Final = sql(f"""
{AUTHORIZATION_COLUMNS.insert_into("gasless_authorization")}
ON CONFLICT (swap_id, submission) DO UPDATE SET {new_values("status, detail, transaction_hash")}
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
ACCOUNT_COLUMNS: Final = Columns("""
    kind text, network text, token text, swap_id uuid, deposit_id uuid, holder text, address text,
    app_id uuid""")
# Accounts are inserted or found, and locked, in the order of their columns. A later statement moves
# the balance, because an inserted row is checked before the conflict is detected.
LOCK_ACCOUNTS: Final = sql(f"""
INSERT INTO account ({ACCOUNT_COLUMNS.names})
SELECT {ACCOUNT_COLUMNS.names}
FROM {ACCOUNT_COLUMNS.arrays} WITH ORDINALITY AS new({ACCOUNT_COLUMNS.names}, n)
ORDER BY n
ON CONFLICT (kind, network, token, swap_id, deposit_id, address, app_id) DO UPDATE
SET holder = excluded.holder
""")
LEDGER_TRANSACTION_COLUMNS: Final = Columns("""
    id uuid, kind text, swap_id uuid, dedupe_key text, network text, effective_block bigint""")
ADD_LEDGER_TRANSACTIONS: Final = sql(f"""
INSERT INTO ledger_transaction ({LEDGER_TRANSACTION_COLUMNS.names}, at)
SELECT *, now() FROM {LEDGER_TRANSACTION_COLUMNS.arrays}
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
INVENTORY_COLUMNS: Final = Columns("""
    network text, token text, held_base_units numeric, owed_base_units numeric, version int""")
MOVE_INVENTORY: Final = sql(f"""
UPDATE inventory SET held_base_units = new.held_base_units, owed_base_units = new.owed_base_units,
    version = new.version
FROM {INVENTORY_COLUMNS.arrays_as("new")}
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
