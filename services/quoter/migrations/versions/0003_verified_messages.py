"""Messages from Kafka are compared with their sender's outbox; different ones are quarantined."""

from alembic import op

from swap_runtime.postgres.schema import verify_messages

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    verify_messages(op)
