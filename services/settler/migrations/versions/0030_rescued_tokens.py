"""Tokens outside the catalogue, and the operator who chose the recipient of their return."""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

RESCUED = """
CREATE TABLE rescued_token (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  transaction_hash text NOT NULL, -- by which it came
  token text NOT NULL,
  from_address text NOT NULL, -- as its contract says, like all of the transfer
  to_address text NOT NULL, -- the Treasury, or a deposit address
  base_units numeric(78,0) NOT NULL,
  returned_to text NOT NULL,
  ordered_by text NOT NULL,
  ordered_because text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX rescued_token_transaction ON rescued_token (network, transaction_hash);
CREATE INDEX deposit_without_swap ON deposit (network, transaction_hash) WHERE swap_id IS NULL;
"""


def upgrade() -> None:
    op.execute(RESCUED)
