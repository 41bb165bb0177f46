"""SQL that finds and locks swaps, deposits and payments. Each statement takes arrays."""

from typing import Final, NamedTuple

from swap_runtime.postgres.sql import Statement, sql
from swap_settler.model.store.holds import held_swap

SWAP: Final = """
SELECT id, app_id, sequence_number, sequence, status, method,
       source_network, source_token, source_decimals,
       destination_network, destination_token, destination_decimals,
       source_address, destination_address, refund_address, reference_id,
       quote::text AS quote, quote_revision, quote_expires_at, last_requoted_at, quote_locked_at,
       fail_reason, created_at, expires_at, changed_at, closed_at
FROM swap
"""
DEPOSIT: Final = """
SELECT id, swap_id, version, state, method, network, token, base_units, returned_base_units,
       is_booked, transaction_hash, block_number, block_hash, block_time, from_address, to_address,
       confirmations_required, sequence_number, memo, quarantine_reason,
       heard_at AS received_at, attached_at, came_after
FROM deposit
"""
INTENT: Final = """
SELECT id, paid_id, swap_id, deposit_id, kind, network, token, to_address, base_units,
       charged_base_units, usd_micros, state, due_at, created_at, slot_at, transaction_hash,
       block_number, block_hash, block_time, version, confirmed_at, payer, call_data, not_after,
       app_id
FROM intent
"""
# Each payment reads its own rows: a join might scan all signed transactions.
_ATTEMPTS: Final = """
SELECT signed.* FROM {of} AS payment CROSS JOIN LATERAL (
    SELECT slot_intent.intent_id, attempt.transaction_hash, slot.closed_at IS NULL OR coalesce((
        SELECT receipt.status = 1 FROM receipt WHERE (receipt.network, receipt.transaction_hash)
            = (attempt.network, attempt.transaction_hash)), false) AS is_open
    FROM slot_intent
    JOIN nonce_slot AS slot USING (network, signer, nonce)
    JOIN attempt USING (network, signer, nonce)
    WHERE slot_intent.intent_id = payment.id AND NOT attempt.is_cancel) AS signed
"""


class Loading(NamedTuple):
    """What loads swaps, in the order of their locks: all of it in one round trip."""

    swaps: Statement
    intents: Statement
    attempts: Statement
    deposits: Statement
    authorizations: Statement


def _loading(ids: str) -> Loading:
    """
    :param ids: the array of the swaps. Each statement computes it again, so it must not change
        after the first one.
    """
    live = f"swap_id = ANY({ids}) AND state <> 'dead'"
    return Loading(
        swaps=sql(f"{SWAP} WHERE id = ANY({ids}) ORDER BY id FOR UPDATE"),
        # Locked, so that the sender lane cannot sign for an intent that is being taken back.
        intents=sql(f"{INTENT} WHERE {live} ORDER BY id FOR UPDATE"),
        # After the lock: within the locking statement one would see what was before it.
        attempts=sql(_ATTEMPTS.format(of=f"(SELECT id FROM intent WHERE {live})")),
        deposits=sql(f"{DEPOSIT} WHERE swap_id = ANY({ids}) ORDER BY heard_at, id"),
        # Signatures that deposit. The newest of a swap counts; the older ones are its history.
        authorizations=sql(f"""
SELECT DISTINCT ON (swap_id) swap_id, submission, intent_id, standard, signer, base_units, nonce,
       valid_after, valid_before, status, detail, transaction_hash, submitted_at
FROM gasless_authorization WHERE swap_id = ANY({ids})
ORDER BY swap_id, submission DESC
"""),
    )


BY_ID: Final = _loading("CAST(:ids AS uuid[])")
# Of locked keys: no swap is created with them and no deposit of them is attached meanwhile. A swap
# that has one of the deposits is loaded too, whatever its message names: it was attached, or a node
# reported falsely.
_OF_KEYS: Final = """ARRAY(
    SELECT id FROM swap WHERE match_key = ANY(CAST(:keys AS text[])) UNION ALL
    SELECT swap_id FROM deposit
    WHERE id = ANY(CAST(:deposit_ids AS uuid[])) AND swap_id IS NOT NULL)"""
BY_KEY: Final = _loading(_OF_KEYS)
HELD_BY_KEY: Final = sql(f"""
SELECT id FROM swap WHERE id = ANY({_OF_KEYS}) AND {held_swap("swap.id")}
""")
# The inventory that decisions about these swaps may move, and that of the deposits: all rows, or
# none where one is missing. To add a row while another is locked could deadlock.
INVENTORY_BY_KEY: Final = sql(f"""
WITH found AS MATERIALIZED (
    SELECT source_network, source_token, destination_network, destination_token,
           quote ->> 'refuel_base_units' IS NOT NULL AS has_refuel
    FROM swap WHERE id = ANY({_OF_KEYS})
), wanted AS MATERIALIZED (
    SELECT came.network, came.token
    FROM unnest(CAST(:networks AS text[]), CAST(:tokens AS text[])) AS came(network, token)
    UNION SELECT source_network, source_token FROM found
    UNION SELECT destination_network, destination_token FROM found
    UNION SELECT destination_network, :native FROM found WHERE has_refuel
)
SELECT network, token, held_base_units, owed_base_units, version
FROM inventory JOIN wanted USING (network, token)
WHERE NOT EXISTS (
    SELECT FROM wanted AS one WHERE NOT EXISTS (
        SELECT FROM inventory AS there
        WHERE (there.network, there.token) = (one.network, one.token)))
ORDER BY network, token FOR UPDATE OF inventory
""")
# A message that money came for the swap is parked, and not applied until an operator has looked.
# A deposit names its swap by number, memo or address; the key of an attachment is the swap's id.
# The bytes are searched, since a message that cannot be decoded is parked, too. One that only looks
# as if it were the swap's delays the swap, and does nothing else.
IS_PARKED: Final = """
EXISTS (SELECT FROM parked
    WHERE parked.consumer = :consumer AND parked.state IN ('parked', 'releasing')
        AND CASE parked.topic
            WHEN 'swap.requests.v1' THEN parked.key = convert_to(swap.id::text, 'UTF8')
                AND position(convert_to('DepositAttached', 'UTF8') IN parked.value) > 0
            WHEN 'deposit.changed.v1' THEN EXISTS (
                SELECT FROM (VALUES
                    (swap.sequence_number::text),
                    -- As a memo ends: see swap_chains.evm.memos.
                    (lpad(to_hex(swap.sequence_number), 56, '0')),
                    ((SELECT address FROM deposit_address WHERE swap_id = swap.id))
                ) AS named(part)
                WHERE position(convert_to(named.part, 'UTF8') IN parked.value) > 0)
            END)
"""
# A deposit address must be counted up to the deadline. The watcher follows it, with earlier
# deposits, and has counted its coins at a later block.
IS_WATCHED_UNTIL_EXPIRY: Final = """
(swap.method <> 'deposit_address' OR EXISTS (
    SELECT FROM deposit_address AS own CROSS JOIN LATERAL (
        SELECT counted_time FROM chain_watcher.watched_target
        WHERE (network, address) = (own.network, own.address)) AS target
    WHERE own.swap_id = swap.id
        AND (swap.source_token <> :native OR target.counted_time > swap.expires_at)))
"""
# The watcher's block time, on networks where all messages up to there are processed.
LOCK_EXPIRING: Final = sql(f"""
WITH mark AS MATERIALIZED (
    SELECT coalesce(max(xid), '0') AS xid, coalesce(max(id), 0) AS id FROM watermark
    WHERE (consumer, source, topic) = (:consumer, 'chain_watcher', 'deposit.changed.v1')
), request_mark AS MATERIALIZED (
    SELECT coalesce(max(xid), '0') AS xid, coalesce(max(id), 0) AS id FROM watermark
    WHERE (consumer, source, topic) = (:consumer, 'api', 'swap.requests.v1')
), unread_request AS MATERIALIZED (
    SELECT sent.key FROM api.outbox AS sent, request_mark AS mark
    WHERE sent.topic = 'swap.requests.v1' AND (sent.xid, sent.id) > (mark.xid, mark.id)
        AND NOT EXISTS (SELECT 1 FROM inbox
            WHERE (inbox.consumer, inbox.message_id) = (:consumer, sent.message_id))
), processed AS MATERIALIZED (
    SELECT progress.network, progress.block_time FROM chain_watcher.progress AS progress, mark
    WHERE NOT EXISTS (
        SELECT 1 FROM chain_watcher.outbox AS published
        WHERE published.topic = 'deposit.changed.v1'
            AND (published.xid, published.id) > (mark.xid, mark.id)
            AND published.id <= progress.last_outbox_id
            AND NOT EXISTS (SELECT 1 FROM inbox
                WHERE (inbox.consumer, inbox.message_id) = (:consumer, published.message_id)))
)
{SWAP} JOIN processed ON processed.network = swap.source_network
WHERE status = 'user_transfer_pending' AND expires_at < :now AND expires_at < processed.block_time
    AND NOT EXISTS (SELECT 1 FROM deposit WHERE swap_id = swap.id AND state = 'seen')
    -- Each for its own: otherwise every relay that lives or went out might be read.
    AND NOT EXISTS (SELECT 1 FROM (
            SELECT kind, state FROM intent WHERE swap_id = swap.id) AS own
        WHERE kind = 'gasless' AND state NOT IN ('dead', 'confirmed'))
    AND NOT {IS_PARKED} AND {IS_WATCHED_UNTIL_EXPIRY}
    -- A deposit that was attached before the deadline, or a signature that deposits.
    AND convert_to(swap.id::text, 'UTF8') NOT IN (SELECT key FROM unread_request)
ORDER BY id LIMIT :limit FOR UPDATE OF swap SKIP LOCKED
""")
# Each reads its own rows: a join might scan all deposits without a swap. With another index each
# might do so too. So the id is compared only on found rows, and one index gives the order of keys.
UNMATCHED: Final = sql(f"""
SELECT found.* FROM unnest(CAST(:ids AS uuid[])) AS wanted(deposit_id) CROSS JOIN LATERAL (
    {DEPOSIT} WHERE id = wanted.deposit_id) AS found
WHERE found.swap_id IS NULL
UNION
SELECT found.* FROM unnest(CAST(:keys AS text[])) AS wanted(key) CROSS JOIN LATERAL (
    {DEPOSIT} WHERE swap_id IS NULL AND match_key = ANY(ARRAY[wanted.key])
    ORDER BY match_key) AS found
ORDER BY received_at, id
""")
# The live intents that have these ids at the Treasury: swaps', and those that are no swap's.
PAID_BY: Final = sql("""
SELECT intent.network, intent.paid_id, intent.id, intent.swap_id FROM intent
JOIN unnest(CAST(:networks AS text[]), CAST(:paid_ids AS numeric[])) AS wanted(network, paid_id)
    USING (network, paid_id)
WHERE intent.state <> 'dead'
""")
LIVE_STANDALONE_INTENTS: Final = sql("""
SELECT deposit_id, id FROM intent
WHERE deposit_id = ANY(CAST(:deposit_ids AS uuid[])) AND swap_id IS NULL AND kind = 'claim'
    AND state <> 'dead'
""")
LOCK_STANDALONE_INTENTS: Final = sql(f"""
{INTENT} WHERE id = ANY(CAST(:ids AS uuid[])) AND swap_id IS NULL AND state <> 'dead'
ORDER BY id FOR UPDATE
""")
ATTEMPTS: Final = sql(_ATTEMPTS.format(of="(SELECT unnest(CAST(:intent_ids AS uuid[])) AS id)"))
