"""The time of a signer's halt, and the operator of its last resumption."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Without a CHECK that ties reason and time: a process of the release before this one halts without
# a time, and must not fail to.
SIGNER = """
ALTER TABLE signer
  ADD COLUMN halted_at timestamptz,
  ADD COLUMN resumed_at timestamptz,
  ADD COLUMN resumed_by text,
  ADD COLUMN resumed_reason text,
  ADD CHECK ((resumed_at IS NULL) = (resumed_by IS NULL)
    AND (resumed_at IS NULL) = (resumed_reason IS NULL))
"""


def upgrade() -> None:
    op.execute(SIGNER)
