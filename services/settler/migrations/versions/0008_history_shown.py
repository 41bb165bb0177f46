"""The part of a swap's history that partners may read, as views for the api."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

VIEWS = """
CREATE VIEW swap_event AS
SELECT swap_id, sequence, from_status, to_status, at FROM swap_transition;

-- The postings of a swap's own ledger transactions, each on an account of this swap or of nobody's:
-- what is booked for another swap in the same breath is not shown.
CREATE VIEW swap_posting AS
SELECT touched.swap_id, entry.id AS transaction_id, entry.kind AS reason, entry.at, entry.network,
       entry.effective_block AS block_number, posting.n, account.kind AS account,
       account.network AS asset_network, account.token AS asset_token, posting.base_units
FROM (
    SELECT DISTINCT own.swap_id, mine.transaction_id
    FROM account AS own JOIN posting AS mine ON mine.account_id = own.id
    WHERE own.swap_id IS NOT NULL
) AS touched
JOIN ledger_transaction AS entry
    ON entry.id = touched.transaction_id AND entry.swap_id = touched.swap_id
JOIN posting ON posting.transaction_id = entry.id
JOIN account ON account.id = posting.account_id
WHERE account.swap_id IS NULL OR account.swap_id = touched.swap_id;

GRANT USAGE ON SCHEMA settler TO api;
GRANT SELECT ON swap_event, swap_posting TO api;
"""


def upgrade() -> None:
    op.execute(VIEWS)
