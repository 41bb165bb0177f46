"""An index for swaps that may exceed the maximum duration of their status."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

OPEN_SWAPS = """
CREATE INDEX swap_open ON swap (created_at, id)
  WHERE status IN ('ls_transfer_pending', 'pending_refund')
"""


def upgrade() -> None:
    op.execute(OPEN_SWAPS)
