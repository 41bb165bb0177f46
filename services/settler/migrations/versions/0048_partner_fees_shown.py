"""What apps earn by their own fees and are paid, as views that the api reads."""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

# Postings have no time, and an account may have a million: the list needs rows of its own.
EARNED = (
    """
CREATE TABLE earned_partner_fee (
  transaction_id uuid PRIMARY KEY,
  app_id uuid NOT NULL,
  network text NOT NULL,
  token text NOT NULL,
  swap_id uuid NOT NULL,
  at timestamptz NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units > 0)
)
""",
    "CREATE INDEX earned_partner_fee_app ON earned_partner_fee (app_id, at, transaction_id)",
    """
CREATE INDEX earned_partner_fee_asset
  ON earned_partner_fee (app_id, network, token, at, transaction_id)
""",
    """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON earned_partner_fee
FOR EACH ROW EXECUTE FUNCTION refuse_change()
""",
    # At the commit: the postings are added after their transaction.
    """
CREATE FUNCTION list_earned_partner_fee() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO earned_partner_fee (transaction_id, app_id, network, token, swap_id, at, base_units)
  SELECT NEW.id, account.app_id, account.network, account.token, NEW.swap_id, NEW.at,
         -posting.base_units
  FROM posting JOIN account ON account.id = posting.account_id
  WHERE posting.transaction_id = NEW.id AND account.kind = 'partner_fee';
  RETURN NULL;
END $$
""",
    """
CREATE CONSTRAINT TRIGGER list_earned_partner_fee AFTER INSERT ON ledger_transaction
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'partner_fee_earned')
EXECUTE FUNCTION list_earned_partner_fee()
""",
    # Fees from before the trigger, which excludes writers until this migration commits.
    """
INSERT INTO earned_partner_fee (transaction_id, app_id, network, token, swap_id, at, base_units)
SELECT entry.id, account.app_id, account.network, account.token, entry.swap_id, entry.at,
       -posting.base_units
FROM account JOIN posting ON posting.account_id = account.id
JOIN ledger_transaction AS entry ON entry.id = posting.transaction_id
WHERE account.kind = 'partner_fee' AND entry.kind = 'partner_fee_earned'
""",
)
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
    for statement in (*EARNED, *VIEWS):
        op.execute(statement)
