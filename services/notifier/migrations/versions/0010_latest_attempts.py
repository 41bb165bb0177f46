"""The latest attempts of a message are found by one index, however often it was replayed."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX delivery_attempt_latest ON delivery_attempt (message_id, id)")
