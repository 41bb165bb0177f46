"""Fees from before the trigger of 0048, and views of fees and payouts for the api."""

from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

# In a transaction of its own: 0048 excludes writers of the ledger until it commits. What is
# booked meanwhile is listed by the trigger.
EARLIER = """
INSERT INTO earned_partner_fee (transaction_id, app_id, network, token, swap_id, at, base_units)
SELECT entry.id, account.app_id, account.network, account.token, entry.swap_id, entry.at,
       -posting.base_units
FROM account JOIN posting ON posting.account_id = account.id
JOIN ledger_transaction AS entry ON entry.id = posting.transaction_id
WHERE account.kind = 'partner_fee' AND entry.kind = 'partner_fee_earned'
ON CONFLICT (transaction_id) DO NOTHING
"""
# What was earned is never summed: it waits, is on its way, or was paid.
VIEWS = (
    """
CREATE VIEW partner_fee_earned AS
SELECT transaction_id AS id, app_id, network, token, swap_id, at, base_units
FROM earned_partner_fee
""",
    """
CREATE VIEW partner_fee_payout AS
SELECT id, app_id, network, token, created_at AS at, base_units, to_address, transaction_hash, state
FROM intent WHERE kind = 'partner_fee'
""",
    """
CREATE VIEW partner_fee_balance AS
SELECT account.app_id, account.network, account.token, -account.balance AS waiting,
       paid.pending, paid.completed
FROM account CROSS JOIN LATERAL (
  SELECT coalesce(sum(base_units) FILTER (WHERE state <> 'confirmed'), 0) AS pending,
         coalesce(sum(base_units) FILTER (WHERE state = 'confirmed'), 0) AS completed
  FROM intent WHERE intent.kind = 'partner_fee' AND intent.state <> 'dead'
    AND intent.app_id = account.app_id AND intent.network = account.network
    AND intent.token = account.token
) AS paid
WHERE account.kind = 'partner_fee'
""",
    "GRANT SELECT ON partner_fee_earned, partner_fee_payout, partner_fee_balance TO api",
)


def upgrade() -> None:
    for statement in (EARLIER, *VIEWS):
        op.execute(statement)
