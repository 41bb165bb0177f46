"""An endpoint can be removed: nothing is sent, stored or listed for it afterwards."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

REMOVED = """
ALTER TABLE endpoint
  ADD COLUMN removed_at timestamptz,
  ADD CONSTRAINT endpoint_removed CHECK (removed_at IS NULL OR disabled_at IS NOT NULL)
"""


def upgrade() -> None:
    op.execute(REMOVED)
