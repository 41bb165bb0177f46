"""A list of the fees that apps earn, kept by a trigger from here on."""

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
  WHERE posting.transaction_id = NEW.id AND account.kind = 'partner_fee'
  ON CONFLICT (transaction_id) DO NOTHING;
  RETURN NULL;
END $$
""",
    """
CREATE CONSTRAINT TRIGGER list_earned_partner_fee AFTER INSERT ON ledger_transaction
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'partner_fee_earned')
EXECUTE FUNCTION list_earned_partner_fee()
""",
)


def upgrade() -> None:
    for statement in EARNED:
        op.execute(statement)
