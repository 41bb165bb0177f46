"""The provider that reported a block."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # null: stored before providers were recorded
    op.execute("ALTER TABLE chain_block ADD COLUMN provider text")
