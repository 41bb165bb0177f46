"""The time since which a refund is due: it may be postponed, for a limited time."""

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
