"""The outbox has no trigger that notifies: the writer notifies after the commit."""

from alembic import op

from swap_runtime.postgres.schema import drop_outbox_trigger

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    drop_outbox_trigger(op)
