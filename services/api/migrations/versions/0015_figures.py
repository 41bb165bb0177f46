"""What figures of an app are made of: when a swap closed, and its value."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Swaps from before have neither; they count, but add nothing to volume and durations.
COLUMNS = """
ALTER TABLE swap
  ADD COLUMN closed_at timestamptz,
  ADD COLUMN value_usd_micros numeric(78, 0)
"""


def upgrade() -> None:
    op.execute(COLUMNS)
