"""The block below which blocks without movements are deleted."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

# Below it only blocks with movements are stored, and blocks that a reorg removed.
PRUNED = "ALTER TABLE watch_cursor ADD COLUMN pruned_number bigint NOT NULL DEFAULT 0"


def upgrade() -> None:
    op.execute(PRUNED)
