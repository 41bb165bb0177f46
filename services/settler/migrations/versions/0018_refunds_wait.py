"""Since when a refund is due: it may be put off, and comes to an end."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

REFUNDS_WAIT = """
ALTER TABLE refund_due ADD COLUMN since timestamptz NOT NULL DEFAULT now();
"""


def upgrade() -> None:
    op.execute(REFUNDS_WAIT)
