"""An endpoint records whether its owner or an operator disabled it."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

REASONS = """
ALTER TABLE endpoint
  DROP CONSTRAINT endpoint_disabled_reason_check,
  ADD CONSTRAINT endpoint_disabled_reason_check
    CHECK (disabled_reason IN ('operator', 'owner', 'gone', 'failing'))
"""


def upgrade() -> None:
    op.execute(REASONS)
