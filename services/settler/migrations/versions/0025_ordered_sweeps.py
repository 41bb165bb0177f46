"""Sweeps that an operator orders, of tokens that no swap expects and no feed prices."""

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
