"""Fees that apps charge on their swaps."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

FEES = """
ALTER TABLE app ADD COLUMN fee_basis_points int NOT NULL DEFAULT 0
  CHECK (fee_basis_points BETWEEN 0 AND 1000)
"""


def upgrade() -> None:
    op.execute(FEES)
