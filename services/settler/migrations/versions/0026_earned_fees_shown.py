"""The fee that a swap earned for its partner is among the swap's postings, on any account."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

# A fee moves between accounts without swap. It is found by its dedupe key, which the output set.
POSTINGS = """
CREATE OR REPLACE VIEW swap_posting AS
SELECT touched.swap_id, entry.id AS transaction_id, entry.kind AS reason, entry.at, entry.network,
       entry.effective_block AS block_number, posting.n, account.kind AS account,
       account.network AS asset_network, account.token AS asset_token, posting.base_units
FROM (
    SELECT own.swap_id, mine.transaction_id
    FROM account AS own JOIN posting AS mine ON mine.account_id = own.id
    WHERE own.swap_id IS NOT NULL
    UNION
    SELECT output.swap_id, earned.id
    FROM intent AS output
    JOIN ledger_transaction AS earned
        ON earned.dedupe_key = 'partner_fee_earned/' || CAST(output.id AS text)
    WHERE output.kind = 'output' AND output.state <> 'dead'
) AS touched
JOIN ledger_transaction AS entry
    ON entry.id = touched.transaction_id AND entry.swap_id = touched.swap_id
JOIN posting ON posting.transaction_id = entry.id
JOIN account ON account.id = posting.account_id
WHERE account.swap_id IS NULL OR account.swap_id = touched.swap_id
"""


def upgrade() -> None:
    op.execute(POSTINGS)
