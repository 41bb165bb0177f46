"""Sweeps and withdrawals wait for a second provider; they are not withheld deposits."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

WITHHELD = """
CREATE OR REPLACE VIEW withheld_deposits AS
SELECT network, count(*) AS deposits, min(withheld_at) AS since FROM movement
WHERE withheld_at IS NOT NULL AND state = 'seen' AND paid_id IS NULL
  AND kind NOT IN ('swept', 'withdrawn')
GROUP BY network;
"""


def upgrade() -> None:
    op.execute(WITHHELD)
