"""Sweeps with an impossible amount are recorded and do not block others."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

QUARANTINE = """
ALTER TABLE swept ADD COLUMN is_quarantined boolean NOT NULL DEFAULT false;
DROP INDEX swept_unbooked;
CREATE INDEX swept_unbooked ON swept (network, block_number)
  WHERE state = 'confirmed' AND NOT is_booked AND NOT is_quarantined;
"""


def upgrade() -> None:
    op.execute(QUARANTINE)
