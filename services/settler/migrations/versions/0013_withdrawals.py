"""Withdrawals by the owner of the Treasury, and whether the ledger has booked them."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

WITHDRAWALS = """
CREATE TABLE withdrawal (
  id uuid PRIMARY KEY,
  version int NOT NULL,
  state text NOT NULL CHECK (state IN ('seen', 'confirmed', 'reverted')),
  is_booked boolean NOT NULL DEFAULT false,
  network text NOT NULL,
  token text NOT NULL,
  treasury text NOT NULL,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units > 0),
  transaction_hash text NOT NULL,
  block_number bigint NOT NULL,
  block_hash text NOT NULL,
  block_time timestamptz NOT NULL
);
CREATE INDEX withdrawal_unbooked ON withdrawal (network, block_number, id)
  WHERE state = 'confirmed' AND NOT is_booked;
"""


def upgrade() -> None:
    op.execute(WITHDRAWALS)
