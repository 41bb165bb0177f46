"""An index by swap for failed payouts, which a refund follows."""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

TRIED = """
CREATE INDEX intent_tried ON intent (swap_id) WHERE kind = 'output' AND state = 'dead'
"""


def upgrade() -> None:
    op.execute(TRIED)
