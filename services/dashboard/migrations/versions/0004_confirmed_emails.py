"""The time at which an identity provider confirmed the email of an account."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE account ADD COLUMN email_confirmed_at timestamptz")
