"""Hinted transactions are looked up repeatedly: one may not have propagated yet."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

HINTS = """
CREATE TABLE hint (
  network text NOT NULL,
  transaction_hash text NOT NULL,
  due_at timestamptz NOT NULL,
  pause interval NOT NULL CHECK (pause > '0'),
  ends_at timestamptz NOT NULL,
  PRIMARY KEY (network, transaction_hash)
);
CREATE INDEX hint_due ON hint (due_at);
CREATE INDEX movement_told_of ON movement (network, transaction_hash) WHERE state IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(HINTS)
