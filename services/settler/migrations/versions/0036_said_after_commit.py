"""No trigger notifies: the writer sends its notification after the commit."""

from alembic import op

from swap_runtime.postgres.schema import drop_outbox_trigger

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

INTENTS_AND_REQUOTES = """
DROP TRIGGER intent_written ON intent;
DROP FUNCTION notify_intent();
DROP TRIGGER requote_written ON requote_due;
DROP FUNCTION notify_requote();
"""


def upgrade() -> None:
    # The order in which a use case locks them: it reads payments first and adds messages last.
    op.execute(INTENTS_AND_REQUOTES)
    drop_outbox_trigger(op)
