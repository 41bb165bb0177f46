"""Answers to idempotency keys without a swap, and requests that are still running."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE idempotency DROP CONSTRAINT idempotency_check")
