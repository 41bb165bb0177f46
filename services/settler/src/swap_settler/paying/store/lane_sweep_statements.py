"""Every statement of the sender lane about sweeps. Arrays in."""

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_settler.paying.store.lane_statements import IS_UNSIGNED, STOPPED

WAITING: Final = sql(f"""
SELECT intent.id, intent.token, intent.failures, intent.goes_alone, sweep.sequence_number
FROM intent JOIN sweep ON sweep.intent_id = intent.id
WHERE intent.network = :network AND intent.state = 'reserved' AND intent.due_at <= now()
    AND NOT {STOPPED}
ORDER BY intent.due_at, intent.id LIMIT :limit
""")
# A crash between the slot and its signed bytes leaves these; the same slot is used again.
UNSIGNED_SLOTS: Final = sql(f"""
SELECT slot.nonce, intent.id, intent.token, intent.failures, intent.goes_alone,
       sweep.sequence_number
FROM nonce_slot AS slot
CROSS JOIN LATERAL (
    SELECT intent_id FROM slot_intent
    WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
        = (slot.network, slot.signer, slot.nonce) OFFSET 0) AS carried
JOIN intent ON intent.id = carried.intent_id AND intent.state = 'assigned'
JOIN sweep ON sweep.intent_id = intent.id
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND {IS_UNSIGNED} AND NOT {STOPPED}
ORDER BY slot.nonce, intent.id
""")
# Nothing is lost that is not swept: it is tried again, ever more rarely, and for ever.
POSTPONE: Final = sql("""
UPDATE intent SET failures = failures + 1, goes_alone = true,
    due_at = now() + :pause * (1 << least(failures, 10))
WHERE id = ANY(CAST(:ids AS uuid[])) AND kind = 'sweep' AND state = 'reserved'
""")
# A slot that did what it is for has swept all of its addresses, or found nothing there any more.
CLOSE_SWEEPS: Final = sql("""
UPDATE intent SET
    state = CASE WHEN closed.succeeded THEN 'mined' ELSE 'reserved' END,
    slot_at = CASE WHEN closed.succeeded THEN slot_at END,
    transaction_hash = CASE WHEN closed.succeeded THEN closed.transaction_hash END,
    block_number = CASE WHEN closed.succeeded THEN closed.block_number END,
    block_hash = CASE WHEN closed.succeeded THEN closed.block_hash END,
    failures = failures + CASE WHEN closed.succeeded THEN 0 ELSE 1 END,
    goes_alone = goes_alone OR NOT closed.succeeded,
    due_at = CASE WHEN closed.succeeded THEN due_at
        ELSE now() + interval '2 seconds' * (1 << least(failures, 10)) END
FROM unnest(CAST(:nonce AS bigint[]), CAST(:transaction_hash AS text[]),
        CAST(:block_number AS bigint[]), CAST(:block_hash AS text[]),
        CAST(:succeeded AS boolean[]))
    AS closed(nonce, transaction_hash, block_number, block_hash, succeeded)
-- Each slot asks for its own: joined, all that the signer ever carried might be read.
CROSS JOIN LATERAL (
    SELECT intent_id FROM slot_intent WHERE (slot_intent.network, slot_intent.signer,
        slot_intent.nonce) = (:network, :signer, closed.nonce) OFFSET 0) AS carried
WHERE intent.id = carried.intent_id AND intent.kind = 'sweep'
    AND intent.state IN ('assigned', 'broadcast', 'mined')
""")
