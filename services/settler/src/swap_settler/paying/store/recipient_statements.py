"""Statements about recipients whose payments revert when they are mined."""

from typing import Final

from swap_runtime.postgres.sql import sql

# Of payments that were alone in their transactions.
RECIPIENT_REVERTS: Final = """
(SELECT coalesce(sum(known.reverts), 0) FROM intent AS known
    WHERE known.network = intent.network AND known.to_address = intent.to_address
        AND known.reverts > 0 AND known.reverted_at > now() - interval '1 day')
"""
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
UNPROVEN: Final = sql("""
SELECT intent.to_address, count(*) AS payments FROM nonce_slot AS slot
CROSS JOIN LATERAL (
    SELECT intent_id FROM slot_intent
    WHERE (slot_intent.network, slot_intent.signer, slot_intent.nonce)
        = (slot.network, slot.signer, slot.nonce) OFFSET 0) AS carried
CROSS JOIN LATERAL (SELECT * FROM intent WHERE id = carried.intent_id OFFSET 0) AS intent
WHERE (slot.network, slot.signer) = (:network, :signer) AND slot.closed_at IS NULL
    AND intent.state IN ('assigned', 'broadcast')
    AND intent.to_address = ANY(CAST(:addresses AS text[]))
GROUP BY intent.to_address
""")
