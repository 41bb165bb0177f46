"""Notices about endpoints, messages about no swap, and an endpoint's messages by their end."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

WANTS_NOTICES = "ALTER TABLE endpoint ADD COLUMN wants_notices boolean NOT NULL DEFAULT false"
ABOUT_NO_SWAP = "ALTER TABLE webhook_message ALTER COLUMN swap_id DROP NOT NULL"
# Every delivery writes to every index, so this one takes the other's place.
ENDED_BY_ENDPOINT = (
    "DROP INDEX webhook_message_ended",
    """
    CREATE INDEX webhook_message_ended ON webhook_message (endpoint_id, ended_at)
    WHERE ended_at IS NOT NULL
    """,
)


def upgrade() -> None:
    for statement in (WANTS_NOTICES, ABOUT_NO_SWAP, *ENDED_BY_ENDPOINT):
        op.execute(statement)
