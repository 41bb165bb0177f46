"""Payouts wait for a second provider as well; the view of withheld deposits leaves them out."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

WITHHELD = """
CREATE OR REPLACE VIEW withheld_deposits AS
SELECT network, count(*) AS deposits, min(withheld_at) AS since FROM movement
WHERE withheld_at IS NOT NULL AND state = 'seen' AND paid_id IS NULL GROUP BY network;
"""


def upgrade() -> None:
    op.execute(WITHHELD)
