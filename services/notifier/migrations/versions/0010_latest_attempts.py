"""An index of a message's latest attempts; its cost does not grow with replays."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX delivery_attempt_latest ON delivery_attempt (message_id, id)")
