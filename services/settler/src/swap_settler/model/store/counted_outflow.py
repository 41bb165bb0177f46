"""Stops counting payments under caps when they are proven not to have been made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_runtime.postgres.database import Transaction
from swap_runtime.postgres.sql import sql

# Counting and its reversal lock the caps in the same order.
LOCK_COUNTED: Final = sql("""
SELECT cap.id FROM outflow_cap AS cap WHERE cap.id = ANY(ARRAY(
    SELECT cap_id FROM outflow_counted WHERE intent_id = ANY(CAST(:ids AS uuid[]))))
ORDER BY cap.id FOR UPDATE
""")
# `until` is the end of a slice of `outflow_spent`.
RELEASE_OUTFLOW: Final = sql("""
WITH gone AS (DELETE FROM outflow_counted WHERE intent_id = ANY(CAST(:ids AS uuid[]))
    RETURNING cap_id, until, amount)
UPDATE outflow_spent SET spent = outflow_spent.spent - back.amount
FROM (SELECT cap_id, until, sum(amount) AS amount FROM gone GROUP BY cap_id, until) AS back
WHERE (outflow_spent.cap_id, outflow_spent.until) = (back.cap_id, back.until)
""")


def release_outflow(connection: Transaction, ids: Sequence[object]) -> None:
    """Stop counting payments that are proven not to have left.

    Call it after the accounts are locked.
    """
    connection.post(LOCK_COUNTED, {"ids": ids})
    connection.post(RELEASE_OUTFLOW, {"ids": ids})
