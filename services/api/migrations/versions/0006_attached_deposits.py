"""Deposits that their senders attached to a swap by signature."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ATTACHED = """
CREATE TABLE deposit_attachment (
  swap_id uuid NOT NULL,
  deposit_id uuid NOT NULL,
  submission int NOT NULL CHECK (submission > 0),
  submitted_at timestamptz NOT NULL,
  PRIMARY KEY (swap_id, deposit_id)
);
"""


def upgrade() -> None:
    op.execute(ATTACHED)
