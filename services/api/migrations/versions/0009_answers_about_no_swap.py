"""Answers to idempotency keys that are about no swap, and those that are still to come."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE idempotency DROP CONSTRAINT idempotency_check")
