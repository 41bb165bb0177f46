"""Hints: transactions that callers name as payments of a swap."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

HINTS = """
CREATE TABLE deposit_hint (
  swap_id uuid NOT NULL,
  transaction_hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (swap_id, transaction_hash)
);
"""


def upgrade() -> None:
    op.execute(HINTS)
