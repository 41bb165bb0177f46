"""Sweeps that an operator orders: of what no swap asked for, and nobody has priced."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

ORDERED = """
ALTER TABLE sweep_due ADD COLUMN is_ordered boolean NOT NULL DEFAULT false;
"""


def upgrade() -> None:
    op.execute(ORDERED)
