"""The columns that figures of an app are counted from: closing time and value of a swap."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Earlier swaps have neither. They count, but add nothing to volume and durations.
COLUMNS = """
ALTER TABLE swap
  ADD COLUMN closed_at timestamptz,
  ADD COLUMN value_usd_micros numeric(78, 0)
"""


def upgrade() -> None:
    op.execute(COLUMNS)
