"""The number of an app's live swaps, by status."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

LIVE = """
CREATE INDEX swap_live ON swap (app_id, status)
  WHERE status IN ('user_transfer_pending', 'ls_transfer_pending', 'pending_refund')
"""


def upgrade() -> None:
    op.execute(LIVE)
