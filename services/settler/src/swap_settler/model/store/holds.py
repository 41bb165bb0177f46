"""The conditions of a recovery that hold payments, and what begins one."""

from typing import Final

from swap_runtime.postgres.sql import sql

PAYMENTS: Final = "('output', 'refuel', 'refund', 'claim', 'partner_fee')"


def _held_swap(swap: str) -> str:
    """Return SQL: whether the hold covers a row of `swap`: an older one, or one that was given an
    older deposit. A forgotten swap may have paid for that deposit.
    """
    return f"""
CASE WHEN hold.before IS NULL THEN true
    WHEN {swap}.source_network <> ALL(hold.networks)
        AND {swap}.destination_network <> ALL(hold.networks) THEN false
    WHEN {swap}.created_at < hold.before THEN true
    ELSE EXISTS (SELECT FROM deposit AS brought WHERE brought.swap_id = {swap}.id
        AND brought.attached_at IS NOT NULL
        AND least(brought.came_after, brought.block_time) < hold.before) END"""


# Payments that an ended recovery found to be paid or could not prove, and that the ledger lacks.
_HAS_RETAINED: Final = "EXISTS (SELECT FROM retained_hold WHERE released_at IS NULL)"


def _retained_swap(id: str) -> str:
    """Return SQL: whether a swap is held after the recovery, for its own payment or for an attached
    deposit.
    """
    return f"""
EXISTS (SELECT FROM retained_hold AS retained WHERE retained.released_at IS NULL
    AND (retained.swap_id = {id} OR EXISTS (SELECT FROM deposit AS of_it
        WHERE of_it.id = retained.deposit_id AND of_it.swap_id = {id})))"""


# The first part of each runs once per statement: without a hold nothing else is read.
HELD: Final = f"""
(intent.kind IN {PAYMENTS} AND (EXISTS (SELECT FROM recovery_hold)
    AND EXISTS (SELECT FROM recovery_hold AS hold
        LEFT JOIN swap AS own ON own.id = intent.swap_id
        WHERE CASE WHEN own.id IS NULL
            THEN hold.before IS NULL OR hold.networks IS NULL
                OR intent.network = ANY(hold.networks)
            ELSE {_held_swap("own")} END)
    OR {_HAS_RETAINED} AND CASE WHEN intent.swap_id IS NULL
        THEN EXISTS (SELECT FROM retained_hold AS retained WHERE retained.released_at IS NULL
            AND (retained.intent_id = intent.id OR retained.deposit_id = intent.deposit_id))
        ELSE {_retained_swap("intent.swap_id")} END))
"""


# Of a row of `signer`: the ledger may be behind the chain's nonce. Nothing gets one until the
# signer's nonces are fenced (paying/usecases/fence_nonces.py).
UNFENCED: Final = """
EXISTS (SELECT FROM recovery_hold AS hold
    WHERE hold.before IS NULL OR hold.recovery_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM recovery_fence AS fence
            WHERE (fence.recovery_id, fence.network, fence.signer)
                = (hold.recovery_id, signer.network, signer.address)))
"""


# The last nonce of a fence that something else than what was signed here has consumed.
LAST_FORGOTTEN: Final = """
SELECT max(slot.nonce) AS nonce FROM nonce_slot AS slot
WHERE (slot.network, slot.signer) = (fence.network, fence.signer)
    AND slot.nonce >= fence.first_nonce AND slot.nonce < fence.end_nonce
    AND slot.closed_at IS NOT NULL AND NOT EXISTS (SELECT FROM signer_transaction AS own
        JOIN attempt USING (transaction_hash)
        WHERE (own.network, own.signer, own.nonce) = (slot.network, slot.signer, slot.nonce))
"""


def held_swap(id: str) -> str:
    """Return SQL: whether the swap of this id is held."""
    return f"""
(EXISTS (SELECT FROM recovery_hold) AND EXISTS (SELECT FROM recovery_hold AS hold
    JOIN swap AS own ON own.id = {id} WHERE {_held_swap("own")})
    OR {_HAS_RETAINED} AND {_retained_swap(id)})
"""


# `at` is when the block of the evidence was made: a payment from before the recovery is what it
# looks for. Any other makes it begin again: what was proven before it is proven once more.
OPEN: Final = sql("""
INSERT INTO recovery (cause, reason) VALUES (:cause, :reason)
ON CONFLICT ((true)) WHERE ended_at IS NULL DO UPDATE SET
    evidence = recovery.evidence
        + CASE WHEN CAST(:at AS timestamptz) < recovery.began_at THEN 0 ELSE 1 END,
    began_at = CASE WHEN CAST(:at AS timestamptz) < recovery.began_at THEN recovery.began_at
        ELSE now() END
""")
