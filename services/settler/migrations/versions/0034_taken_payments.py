"""External payments: ids spent at the Treasury, and the operator who explained each."""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

TAKEN = """
CREATE TABLE taken_payment (
  intent_id uuid PRIMARY KEY REFERENCES intent,
  network text NOT NULL,
  paid_id numeric(78,0) NOT NULL,
  transaction_hash text NOT NULL, -- what took the id, as the chain has it
  block_number bigint NOT NULL,
  block_hash text NOT NULL,
  token text NOT NULL,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units >= 0),
  outcome text NOT NULL CHECK (outcome IN ('made', 'failed', 'left')),
  named_by text NOT NULL,
  named_because text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
"""


def upgrade() -> None:
    op.execute(TAKEN)
