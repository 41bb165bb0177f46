"""Hints are looked up by the transaction they name."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX deposit_hint_hash ON deposit_hint (transaction_hash)")
