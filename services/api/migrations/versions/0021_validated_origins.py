"""Validates the check of 0020, under a lock that lets rows be read and written."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE api_key VALIDATE CONSTRAINT api_key_origins_check")
