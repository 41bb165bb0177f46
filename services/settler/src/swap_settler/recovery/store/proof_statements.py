"""Every statement about what a recovery has proven, and about what stays held after it."""

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_settler.model.store.holds import LAST_FORGOTTEN, PAYMENTS

HEADS: Final = sql("""
SELECT network, number FROM recovery_head
WHERE recovery_id = :id AND evidence = (SELECT evidence FROM recovery WHERE id = :id)
""")
NOTE_HEADS: Final = sql("""
INSERT INTO recovery_head (recovery_id, network, evidence, number)
SELECT :id, network, :evidence, number
FROM unnest(CAST(:network AS text[]), CAST(:number AS bigint[])) AS new(network, number)
ON CONFLICT (recovery_id, network) DO UPDATE
SET evidence = excluded.evidence, number = excluded.number
""")
# What is final there changed: nothing is concluded from it.
HALTED: Final = sql("SELECT network FROM chain_watcher.halted_network")
# A signer is fenced when each nonce that a forgotten transaction may have is consumed in a final
# block. These are all up to `beyond` nonces after the last one that no stored attempt consumed.
SIGNERS: Final = sql(f"""
SELECT signer.network, signer.address, halted_reason IS NOT NULL AS is_halted, fence.end_nonce,
       slots.open AS open_nonces, last.final_number,
       coalesce(fence.end_nonce > forgotten.nonce + fence.beyond, true) AS is_far_enough
FROM signer
LEFT JOIN recovery_fence AS fence
    ON (fence.recovery_id, fence.network, fence.signer) = (:id, signer.network, signer.address)
LEFT JOIN LATERAL (SELECT count(*) AS open FROM nonce_slot AS slot
    WHERE (slot.network, slot.signer) = (fence.network, fence.signer)
        AND slot.nonce < fence.end_nonce AND slot.closed_at IS NULL) AS slots ON true
LEFT JOIN nonce_slot AS last ON (last.network, last.signer, last.nonce)
    = (fence.network, fence.signer, fence.end_nonce - 1)
LEFT JOIN LATERAL ({LAST_FORGOTTEN}) AS forgotten ON true
ORDER BY signer.network, signer.address
""")
# Swaps that may still be paid, or sent back: by what was owed before the recovery.
HELD_SWAPS: Final = sql("""
WITH owed AS MATERIALIZED (
    SELECT id FROM swap
    WHERE status IN ('user_transfer_pending', 'ls_transfer_pending', 'pending_refund')
    UNION SELECT swap_id FROM account
    WHERE kind = 'claimable' AND balance <> 0 AND swap_id IS NOT NULL
    UNION SELECT swap_id FROM intent WHERE state = 'reserved' AND swap_id IS NOT NULL
    UNION SELECT swap_id FROM refund_due
)
SELECT swap.id, source_network, source_token, destination_network, destination_token,
       ARRAY(SELECT deposit.id FROM deposit WHERE deposit.swap_id = swap.id) AS deposit_ids,
       known.networks, known.paid_ids
FROM owed JOIN swap USING (id)
-- What the ledger has an answer for: paid, signed for, or told by an operator.
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(one.network), '{}') AS networks,
           coalesce(array_agg(one.paid_id::text), '{}') AS paid_ids
    FROM (SELECT network, paid_id FROM intent WHERE intent.swap_id = swap.id
            AND paid_id IS NOT NULL AND (state IN ('broadcast', 'mined', 'confirmed')
                -- A slot without bytes may have been signed in the forgotten time.
                OR state = 'assigned' AND EXISTS (SELECT FROM slot_intent
                    JOIN nonce_slot AS slot USING (network, signer, nonce)
                    JOIN attempt USING (network, signer, nonce)
                    WHERE slot_intent.intent_id = intent.id AND slot.closed_at IS NULL))
        UNION ALL SELECT told.network, told.paid_id FROM taken_payment AS told
        JOIN intent ON intent.id = told.intent_id WHERE intent.swap_id = swap.id) AS one) AS known
WHERE swap.id > :after AND (swap.created_at < :before OR EXISTS (SELECT FROM deposit AS brought
    WHERE brought.swap_id = swap.id AND brought.attached_at IS NOT NULL
        AND least(brought.came_after, brought.block_time) < :before))
ORDER BY swap.id LIMIT :limit
""")
STANDALONE: Final = sql(f"""
SELECT id, kind, network, paid_id::text FROM intent
WHERE swap_id IS NULL AND state = 'reserved' AND paid_id IS NOT NULL AND kind IN {PAYMENTS}
""")
# What no swap has and is not ordered to be paid.
DEPOSITS: Final = sql("""
SELECT deposit.id, deposit.network, deposit.token FROM account
JOIN deposit ON deposit.id = account.deposit_id
WHERE account.kind = 'suspense' AND balance <> 0
""")
RETAIN_PAID: Final = sql("""
INSERT INTO retained_hold (recovery_id, swap_id, intent_id, deposit_id, kind, network, paid_id)
SELECT :id, new.* FROM unnest(CAST(:swap_id AS uuid[]), CAST(:intent_id AS uuid[]),
    CAST(:deposit_id AS uuid[]), CAST(:kind AS text[]), CAST(:network AS text[]),
    CAST(:paid_id AS numeric[])) AS new
ON CONFLICT DO NOTHING
""")
# What came before the recovery and is of no swap: a swap that is forgotten may have paid for it.
# Also what is only seen: it may be confirmed and attached after the recovery. Coins at an address
# may have other deposits than before the restore, and so their refunds other ids.
RETAIN_DEPOSITS: Final = sql("""
INSERT INTO retained_hold (recovery_id, deposit_id, kind, network)
SELECT recovery.id, deposit.id, 'deposit', deposit.network FROM recovery
JOIN deposit ON least(deposit.came_after, deposit.block_time) < recovery.began_at
    AND (deposit.attached_at >= recovery.began_at OR deposit.swap_id IS NULL
        AND (deposit.state = 'seen' OR EXISTS (SELECT FROM account WHERE account.kind = 'suspense'
                AND account.deposit_id = deposit.id AND balance <> 0)
            OR EXISTS (SELECT FROM intent WHERE intent.swap_id IS NULL
                AND intent.deposit_id = deposit.id AND intent.state = 'reserved'))
        OR deposit.method = 'deposit_address' AND deposit.token = :native
            AND EXISTS (SELECT FROM swap WHERE swap.id = deposit.swap_id
                AND swap.created_at < recovery.began_at
                AND (deposit.state <> 'credited'
                    OR status IN ('user_transfer_pending', 'ls_transfer_pending', 'pending_refund')
                    OR EXISTS (SELECT FROM refund_due WHERE refund_due.swap_id = swap.id)
                    OR EXISTS (SELECT FROM intent WHERE intent.swap_id = swap.id
                        AND intent.state = 'reserved')
                    OR EXISTS (SELECT FROM account WHERE account.swap_id = swap.id
                        AND account.kind = 'claimable' AND balance <> 0))))
WHERE recovery.id = :id
ON CONFLICT DO NOTHING
""")
# Until then coins from before the recovery may still become a deposit.
_UNCOUNTED: Final = """
FROM deposit_address AS own JOIN swap ON swap.id = own.swap_id
WHERE swap.created_at < :before AND own.network = ANY(CAST(:networks AS text[]))
    AND NOT EXISTS (SELECT FROM chain_watcher.watched_target AS target
        WHERE (target.network, target.address) = (own.network, own.address)
            AND target.counted_time >= :before)
"""
ARE_COUNTED: Final = sql(f"SELECT NOT EXISTS (SELECT {_UNCOUNTED})")
UNCOUNTED: Final = sql(f"SELECT own.network, count(*) AS addresses {_UNCOUNTED} GROUP BY network")
RETAINED: Final = sql("""
SELECT id, swap_id, intent_id, deposit_id, kind, network, since, paid_id IS NOT NULL AS is_paid
FROM retained_hold
WHERE released_at IS NULL ORDER BY id
""")
RELEASE: Final = sql("""
UPDATE retained_hold SET released_at = now(), released_by = :by, released_because = :reason
WHERE id = :id AND released_at IS NULL AND paid_id IS NULL
""")
# An operator has reconciled this id: it is no longer in doubt.
RELEASE_EXPLAINED: Final = sql("""
UPDATE retained_hold SET released_at = now(), released_by = :by, released_because = :reason
FROM unnest(CAST(:network AS text[]), CAST(:paid_id AS numeric[])) AS told(network, paid_id)
WHERE (retained_hold.network, retained_hold.paid_id) = (told.network, told.paid_id)
    AND released_at IS NULL
""")
