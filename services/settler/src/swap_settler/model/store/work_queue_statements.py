"""SQL about later work: refunds, requotes and completions that are due."""

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_settler.model.store.holds import HELD
from swap_settler.model.store.statements import IS_PAID_EXTERNALLY
from swap_settler.model.store.swap_statements import SWAP

# What is due again while it was due already is due once.
ADD_REFUNDS_DUE: Final = sql("""
INSERT INTO refund_due (network, swap_id, deposit_id)
SELECT * FROM unnest(
    CAST(:network AS text[]), CAST(:swap_id AS uuid[]), CAST(:deposit_id AS uuid[]))
ON CONFLICT (swap_id, deposit_id) DO NOTHING
""")
DROP_REFUNDS_DUE: Final = sql("DELETE FROM refund_due WHERE id = ANY(CAST(:ids AS bigint[]))")
# What is due already is due at once: another sum is there.
ADD_REQUOTES_DUE: Final = sql("""
INSERT INTO requote_due (swap_id)
SELECT * FROM unnest(CAST(:swap_id AS uuid[]))
ON CONFLICT (swap_id) DO UPDATE SET due_at = now(), since = now()
""")
POSTPONE_REQUOTES: Final = sql("""
UPDATE requote_due SET due_at = now() + :pause WHERE swap_id = ANY(CAST(:ids AS uuid[]))
""")
DROP_REQUOTES_DUE: Final = sql("DELETE FROM requote_due WHERE swap_id = ANY(CAST(:ids AS uuid[]))")
# The first time that a swap's output was final counts.
ADD_COMPLETIONS_DUE: Final = sql("""
INSERT INTO completion_due (swap_id, due_at)
SELECT * FROM unnest(CAST(:swap_id AS uuid[]), CAST(:due_at AS timestamptz[]))
ON CONFLICT (swap_id) DO NOTHING
""")
# Joined, every swap might be read in the order of their ids.
LOCK_OVERDUE: Final = sql(f"""
{SWAP} WHERE id = ANY(ARRAY(SELECT swap_id FROM completion_due WHERE due_at <= :now))
ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
""")
# Their signer is halted, or the Treasury is known to have spent their ids.
REFUELS_IN_DOUBT: Final = sql(f"""
SELECT swap_id FROM intent
WHERE swap_id = ANY(CAST(:ids AS uuid[])) AND kind = 'refuel' AND state IN ('reserved', 'assigned')
    AND (EXISTS (SELECT FROM signer
            WHERE signer.network = intent.network AND signer.halted_reason IS NOT NULL)
        OR {HELD} OR {IS_PAID_EXTERNALLY})
""")
DROP_COMPLETIONS_DUE: Final = sql(
    "DELETE FROM completion_due WHERE swap_id = ANY(CAST(:ids AS uuid[]))"
)
