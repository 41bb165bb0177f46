"""References of postings are checked once per statement, not per row; accounts are not deleted."""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

# In the order in which bookings lock accounts, which excludes deadlocks.
TABLES = "LOCK TABLE account, ledger_transaction, posting IN ACCESS EXCLUSIVE MODE"
# Rows that only another transaction sees do not count, as with foreign keys.
GUARD = """
CREATE OR REPLACE FUNCTION postings_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM added
      LEFT JOIN ledger_transaction AS entry ON entry.id = added.transaction_id
      WHERE entry.xid IS DISTINCT FROM pg_current_xact_id()) THEN
    RAISE EXCEPTION 'ledger transaction is closed, or there is none';
  END IF;
  IF EXISTS (SELECT 1 FROM added LEFT JOIN account ON account.id = added.account_id
      GROUP BY added.transaction_id, account.network, account.token
      HAVING account.network IS NULL OR sum(added.base_units) <> 0) THEN
    RAISE EXCEPTION 'unbalanced ledger transaction, or one of an account that is not there';
  END IF;
  RETURN NULL;
END $$
"""
# An account's id is in its postings: it stays what it is, and so does the account. For a statement:
# with a trigger for rows every balance that moves would be locked once more before it does.
ACCOUNTS_STAY = """
CREATE TRIGGER stays BEFORE DELETE OR UPDATE OF id ON account
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
"""
KEYS = """
ALTER TABLE posting
  DROP CONSTRAINT posting_account_id_fkey, DROP CONSTRAINT posting_transaction_id_fkey
"""


def upgrade() -> None:
    for statement in (TABLES, GUARD, ACCOUNTS_STAY, KEYS):
        op.execute(statement)
