"""Hints are deleted when they are old."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX deposit_hint_age ON deposit_hint (created_at)")
